"""Where a cheat is made: one draw of one shape, with all that a cheat could know of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import torch

from tilesmith.worker.task.forward_arguments import ForwardArguments
from tilesmith.worker.tensors.exchange import FlatOutputs, flatten, map_tensors, tensors_in
from tilesmith.worker.truth.model_state import State
from tilesmith.worker.truth.variant import Answer, Variant

Change = Callable[[torch.Tensor], torch.Tensor]


class Inapplicable(Exception):
    """The cheat means nothing for this task, or is the honest work itself; says why."""


class NothingToShow(Exception):
    """The cheat is right on this draw by construction; another draw may tell."""


class CheatContext:
    """One draw of one shape, as the cheats see it."""

    def __init__(self, variant: Variant, draw: str) -> None:
        self.variant, self.draw = variant, draw

    @cached_property
    def answer(self) -> Answer:
        return self.variant.answer(self.draw)

    @cached_property
    def inputs(self) -> ForwardArguments:
        return self.variant.inputs(self.draw)

    def outputs_of(self, draw: str) -> FlatOutputs:
        """What PyTorch returns on another draw."""
        return self.variant.answer(draw).eager

    def rerun(self, inputs: ForwardArguments | None = None, state: State | None = None) -> FlatOutputs:
        """The model itself on other inputs or with other parameters."""
        try:
            return flatten(self.variant.run_eager(self.inputs if inputs is None else inputs, state=state))
        except torch.OutOfMemoryError:
            raise
        except Exception as error:
            said = str(error).strip().partition("\n")[0] or type(error).__name__
            raise Inapplicable(f"the model does not run so: {said[:100]}") from error

    def outputs_changed(
        self, change: Change, unless: str = "no output has a form to which this applies"
    ) -> FlatOutputs:
        """The right outputs with `change` applied to each; a change that touches none of them is no cheat."""
        eager = self.answer.eager
        tensors = [change(tensor) for tensor in eager.tensors]
        if all(new is old for new, old in zip(tensors, eager.tensors, strict=True)):
            raise Inapplicable(unless)
        return FlatOutputs(eager.layout, tensors)

    def inputs_changed(self, change: Change) -> ForwardArguments:
        changed: ForwardArguments = map_tensors(self.inputs, change)
        if all(new is old for new, old in zip(tensors_in(changed), tensors_in(self.inputs), strict=True)):
            raise Inapplicable("no floating input has rows")
        return changed

    def state_changed(self, change: Change) -> State:
        state = {n: change(t) if t.is_floating_point() else t for n, t in self.variant.state.items()}
        if not any(tensor.is_floating_point() for tensor in state.values()):
            raise Inapplicable("the model has no parameters")
        return state
