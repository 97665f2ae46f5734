"""Known cheats, made for one task: what each would return on a draw, from the task's own outputs, inputs and state.

The judge runs them through itself before it judges anybody. A cheat is not a kernel here but its outputs: what
matters is whether the comparison kills them, and that is the same comparison that candidates get.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tilesmith.process.protocol.comparison import CheatResult
from tilesmith.worker.tensors.exchange import FlatOutputs, map_tensors, tensors_in
from tilesmith.worker.truth.answer_comparison import compare_with_answer
from tilesmith.worker.truth.cheat_context import CheatContext, Inapplicable, NothingToShow
from tilesmith.worker.truth.rounding import coarser, round_to_half_width, to_bfloat16
from tilesmith.worker.truth.variant import Variant

_MOST_ECHOES = 4


@dataclass(frozen=True)
class Cheat:
    """A name to report it by and what it would return; `kind` says what its survival means."""

    name: str
    make: Callable[[CheatContext], FlatOutputs]
    kind: str = "wrong"
    """wrong: never right; parameters: the same, and other parameters may tell; echo: right if the task is a copy;
    rounding: right where the error budget allows it."""


def cheats_for(variant: Variant) -> list[Cheat]:
    echoes = [
        Cheat(f"input {i} returned unchanged", lambda context, i=i: _echo(context, i), "echo")  # type: ignore[misc]
        for i in range(min(len(tensors_in(variant.inputs("own"))), _MOST_ECHOES))
    ]
    return [*_CHEATS, *echoes]


def try_cheats(variant: Variant, draw: str, names: Sequence[str]) -> dict[str, CheatResult]:
    """What the comparison says of each."""
    context = CheatContext(variant, draw)
    return {cheat.name: _try_cheat(context, cheat) for cheat in cheats_for(variant) if cheat.name in names}


def _try_cheat(context: CheatContext, cheat: Cheat) -> CheatResult:
    try:
        outputs = cheat.make(context)
    except Inapplicable as why:
        return CheatResult(inapplicable=str(why))
    except NothingToShow:
        return CheatResult()
    eager = context.answer.eager
    same = outputs.layout == eager.layout and all(map(torch.equal, outputs.tensors, eager.tensors))
    return CheatResult(compare_with_answer(context.variant, context.answer, outputs), same)


def _constant(context: CheatContext) -> FlatOutputs:
    """The likeliest number, learned from the task's own inputs."""
    typical = iter([_typical(tensor) for tensor in context.outputs_of("own").tensors])
    return context.outputs_changed(lambda tensor: torch.full_like(tensor, next(typical)))


def _typical(tensor: torch.Tensor) -> Any:
    if not tensor.numel():
        return 0
    if tensor.is_floating_point():
        return tensor.double().nan_to_num(0, 0, 0).mean().item()
    return tensor.mean().item() if tensor.is_complex() else torch.mode(tensor.flatten().long()).values.item()


def _row_means(tensor: torch.Tensor) -> torch.Tensor:
    if not tensor.is_floating_point() or not tensor.dim() or tensor.shape[-1] < 2:
        return tensor
    return tensor.double().mean(-1, keepdim=True).expand_as(tensor).to(tensor.dtype)


def _echo(context: CheatContext, position: int) -> FlatOutputs:
    source = tensors_in(context.inputs)[position]
    return context.outputs_changed(lambda tensor: _shaped_like(tensor, source), "it fits no output")


def _shaped_like(output: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """The input in the output's form, or the output itself where it has none."""
    if source.is_complex() != output.is_complex():
        return output
    if source.numel() == output.numel():
        return source.reshape(output.shape).to(output.dtype)
    try:
        return source.broadcast_to(output.shape).to(output.dtype)
    except RuntimeError:
        return output


def _remembered(context: CheatContext, draw: str) -> FlatOutputs:
    if context.draw == draw:
        raise NothingToShow
    return context.outputs_of(draw)


def _without(tensor: torch.Tensor, places: slice) -> torch.Tensor:
    """Zero in those places of the flattened tensor: never computed."""
    if tensor.numel() < 2:
        return tensor
    flat = tensor.clone(memory_format=torch.contiguous_format).view(-1)
    flat[places] = 0
    return flat.view(tensor.shape)


def _last_sixteenth(tensor: torch.Tensor) -> slice:
    return slice(-max(tensor.numel() // 16, 1), None)


def _half(tensor: torch.Tensor, again: bool) -> torch.Tensor:
    """The second half of every row gone, or replaced by the first: what half of a reduction sees."""
    if not tensor.is_floating_point() or not tensor.dim() or tensor.shape[-1] < 2:
        return tensor
    first = tensor[..., : (tensor.shape[-1] + 1) // 2]
    rest = first[..., : tensor.shape[-1] // 2]
    return torch.cat([first, rest if again else torch.zeros_like(rest)], -1)


def _only_first_output(context: CheatContext) -> FlatOutputs:
    first = context.answer.eager.tensors[0]
    return context.outputs_changed(lambda t: t if t is first else torch.zeros_like(t), "there is only one output")


def _blind_to_inputs(context: CheatContext, keeps_first: bool) -> FlatOutputs:
    given = tensors_in(context.inputs)
    if len(given) < 2:
        raise Inapplicable("the task has no second input")

    def seen(tensor: torch.Tensor) -> torch.Tensor:
        return tensor if (tensor is given[0]) == keeps_first else torch.zeros_like(tensor)

    return context.rerun(context.inputs_changed(seen))


def _computed_coarsely(context: CheatContext) -> FlatOutputs:
    inputs = map_tensors(context.inputs, coarser)
    return context.rerun(inputs, {name: coarser(tensor) for name, tensor in context.variant.state.items()})


def _with_initial_parameters(context: CheatContext) -> FlatOutputs:
    context.state_changed(torch.clone)
    return context.rerun(state=context.variant.seeded)


_CHEATS = (
    Cheat("zeros", lambda context: context.outputs_changed(torch.zeros_like)),
    Cheat("a constant", _constant),
    Cheat("row means", lambda context: context.outputs_changed(_row_means)),
    Cheat("yesterday's output", lambda context: _remembered(context, "own again")),
    Cheat("the first call cached", lambda context: _remembered(context, "own")),
    Cheat("second half left out", lambda s: s.outputs_changed(lambda t: _without(t, slice(t.numel() // 2, None)))),
    Cheat("last sixteenth left out", lambda s: s.outputs_changed(lambda t: _without(t, _last_sixteenth(t)))),
    Cheat("every second element left out", lambda s: s.outputs_changed(lambda t: _without(t, slice(1, None, 2)))),
    Cheat("half of each input row", lambda s: s.rerun(s.inputs_changed(lambda t: _half(t, again=False)))),
    Cheat("half of each input row, twice", lambda s: s.rerun(s.inputs_changed(lambda t: _half(t, again=True)))),
    Cheat("only the first output right", _only_first_output),
    Cheat("only the first input used", lambda context: _blind_to_inputs(context, keeps_first=True)),
    Cheat("the first input ignored", lambda context: _blind_to_inputs(context, keeps_first=False)),
    Cheat("initial parameters", _with_initial_parameters, "parameters"),
    Cheat("parameters all zero", lambda s: s.rerun(state=s.state_changed(torch.zeros_like)), "parameters"),
    Cheat("parameters all one", lambda s: s.rerun(state=s.state_changed(torch.ones_like)), "parameters"),
    Cheat("output rounded to half precision", lambda s: s.outputs_changed(round_to_half_width), "rounding"),
    Cheat("output rounded to bfloat16", lambda s: s.outputs_changed(to_bfloat16), "rounding"),
    Cheat("computed from rounded numbers", _computed_coarsely, "rounding"),
)
