"""One shape of a task, ready to give inputs and answers: the reference model, its state, truth and eager values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from tilesmith.errors import TaskError
from tilesmith.process.protocol.comparison import ExactStatistics, FloatStatistics, OutputStatistics
from tilesmith.worker.compat.torch_names import FakeTensorMode
from tilesmith.worker.fake_cuda.pretend_cuda import pretend_cuda
from tilesmith.worker.task import LoadedTask, build_model, seed_everything
from tilesmith.worker.task.forward_arguments import ForwardArguments, call
from tilesmith.worker.task.torch_steps import Step, TorchStepLog
from tilesmith.worker.tensors.exchange import FlatOutputs, flatten, map_tensors, tensors_in
from tilesmith.worker.tensors.gpu_memory import spare_bytes
from tilesmith.worker.truth.arg_reductions import ArgReductionLog
from tilesmith.worker.truth.draws import draw_inputs
from tilesmith.worker.truth.error_statistics import measure, same_to_rounding
from tilesmith.worker.truth.model_state import State, clone_state, fill, match, perturbed, state_of
from tilesmith.worker.truth.precision import Tf32Emulation
from tilesmith.worker.truth.widening import FloatWidening, widen_attributes, widened

_TYPICAL_SEEDS = 8
_FEW_ELEMENTS = 64
_CACHED_ANSWER_BYTES = 256 * 2**20


@dataclass(frozen=True)
class Answer:
    """What the outputs should be on one draw."""

    truth: FlatOutputs
    eager: FlatOutputs
    log: ArgReductionLog
    truth_is: str

    @property
    def is_exact(self) -> bool:
        """Whether truth is float64 and not PyTorch's own result for want of it."""
        return self.truth_is.startswith("float64")


@dataclass(frozen=True)
class ChangedCall:
    """A call beside the task's own: other arguments, or the other mode."""

    arguments: ForwardArguments
    training: bool


@dataclass(frozen=True)
class TypicalError:
    """PyTorch's own relative errors on one output, over several seeds."""

    relative: float
    max_relative: float


class Variant:
    """A loaded task on a device. Truth is computed only when a candidate's outputs are already there."""

    def __init__(
        self, loaded: LoadedTask, device: str, precision: str, seed: int, strong_parameters: bool = False
    ) -> None:
        self.loaded, self.device, self.precision, self.seed = loaded, device, precision, seed
        with self._world():
            model = build_model(loaded, seed)
        self.seeded = clone_state(state_of(model))
        parameters = {name for name, _ in model.named_parameters()}
        self.state = perturbed(self.seeded, parameters, seed + 1, strong_parameters)
        self.model = model.to(device)
        self._answers: dict[str, Answer] = {}
        self._draws_on: str | None = None
        self._drawn_inputs: dict[tuple[str, int], ForwardArguments] = {}
        self._usable: dict[str, bool] = {}
        self.changed_calls: dict[str, ChangedCall] = {}
        """By the name under which their inputs are asked for, as those of a draw are."""
        self._steps: list[Step] | None = None
        self._typical: list[TypicalError] | None = None
        self.fell_back = False
        """To eval mode, because it is random in training mode."""
        self.training = self._settle_mode()

    def construction(self) -> dict[str, Any]:
        """All a candidate needs to be built like the reference."""
        return {
            "seed": self.seed,
            "args": self.loaded.init_args,
            "kwargs": self.loaded.init_kwargs,
            "seeded": self.seeded,
            "state": self.state,
            "training": self.training,
        }

    def inputs(self, draw: str, seed: int | None = None) -> ForwardArguments:
        """Nobody may change them: they are kept where there is room."""
        if draw in self.changed_calls:
            return self.changed_calls[draw].arguments
        key = (draw, self.seed if seed is None else seed)
        if key in self._drawn_inputs:
            return self._drawn_inputs[key]
        made = self._inputs_of(*key)
        if self.device == "cuda":
            held = [made, *self._drawn_inputs.values()]
            if sum(t.numel() * t.element_size() for t in tensors_in(held)) <= spare_bytes():
                self._drawn_inputs[key] = made
        return made

    def _inputs_of(self, draw: str, seed: int) -> ForwardArguments:
        """The first draw settles where all are made: another device gives other numbers under the same seed."""
        try:
            made = self._drawn(draw, seed, self._draws_on or self.device)
            self._draws_on = self._draws_on or self.device
        except Exception as error:
            if self._draws_on is not None or isinstance(error, torch.OutOfMemoryError):
                raise
            self._draws_on = "cpu"
            made = self._drawn(draw, seed, "cpu")
        return map_tensors(made, lambda t: t.to(self.device))

    def second_inputs(self) -> ForwardArguments | None:
        """Those that timing mixes with the task's own; None where the task cannot give them."""
        return self.inputs("own again") if self.is_usable("own again") else None

    def _drawn(self, draw: str, seed: int, device: str) -> ForwardArguments:
        """Made where they are needed if the task allows it: a CPU takes seconds for what a GPU does at once."""
        with self._world(), torch.device(device):
            return draw_inputs(self.loaded.make_inputs, draw, seed)

    def run_eager(self, inputs: ForwardArguments, seed: int | None = None, state: State | None = None) -> Any:
        """The reference as the user has it, from the perturbed state unless told another, under the fixed seed."""
        self._restore(self.model, self.state if state is None else state)
        seed_everything(self.seed if seed is None else seed)
        with self._world(), self._tf32(), torch.no_grad():
            return call(self.model, _copy(inputs))

    def answer(self, draw: str) -> Answer:
        if draw not in self._answers:
            with self.in_mode(self.changed_calls[draw].training if draw in self.changed_calls else self.training):
                answer = self.answer_on(self.inputs(draw))
            if _size(answer) > _CACHED_ANSWER_BYTES:
                return answer
            self._answers[draw] = answer
        return self._answers[draw]

    def steps(self) -> list[Step]:
        """What torch computes when the reference runs on the task's own inputs."""
        if self._steps is None:
            inputs = _copy(self.inputs("own"))
            self._restore(self.model, self.state)
            with self._world(), torch.no_grad(), TorchStepLog() as steps:
                call(self.model, inputs)
            self._steps = steps.taken
        return self._steps

    def known_answers(self) -> dict[str, Answer]:
        """Those of the draws that were compared before, as far as they are kept."""
        return dict(self._answers)

    def answer_on(self, inputs: ForwardArguments) -> Answer:
        eager = flatten(self.run_eager(inputs))
        log = ArgReductionLog()
        truth, truth_is = self._truth(inputs, eager, log)
        return Answer(truth, eager, log, truth_is)

    def is_usable(self, draw: str) -> bool:
        """The reference runs on this draw and invents no NaN or infinity that its own inputs do not give."""
        if draw in self.changed_calls:
            return True
        if draw not in self._usable:
            self._usable[draw] = self._gives_numbers(draw)
        return self._usable[draw]

    def _gives_numbers(self, draw: str) -> bool:
        try:
            outputs = flatten(self.run_eager(self.inputs(draw))).tensors
        except torch.OutOfMemoryError:
            raise
        except Exception as error:
            if draw == "own":
                raise TaskError(f"{self.loaded.path}: Model fails on get_inputs(): {error}") from error
            return False
        return draw.startswith("own") or all(bool(t.isfinite().all()) for t in outputs if t.is_floating_point())

    @contextmanager
    def in_mode(self, training: bool) -> Iterator[None]:
        """Inside, the module is in that mode, for eager and for the truth."""
        usual, self.training = self.training, training
        self.model.train(training)
        try:
            yield
        finally:
            self.training = usual
            self.model.train(usual)

    def release(self) -> None:
        self._answers.clear()
        self._drawn_inputs.clear()

    def _truth(self, inputs: ForwardArguments, eager: FlatOutputs, log: ArgReductionLog) -> tuple[FlatOutputs, str]:
        for device, widen in ((self.device, True), (self.device, False), ("cpu", True)):
            try:
                return self._in_float64(inputs, device, widen, log), f"float64 on {device}"
            except Exception as error:  # another way may do
                log.seen.clear()
                if isinstance(error, torch.OutOfMemoryError):
                    self.release()
                    torch.cuda.empty_cache()
        return eager, "compared with PyTorch's own result, because the model does not run in float64"

    def _in_float64(self, inputs: ForwardArguments, device: str, widen: bool, log: ArgReductionLog) -> FlatOutputs:
        with self._world():
            wide = build_model(self.loaded, self.seed)
        wide = wide.to(device).double()
        widen_attributes(wide, device)
        wide.train(self.training)
        self._restore(wide, self.state)
        wide_inputs = map_tensors(inputs, lambda t: widened(t, device))
        seed_everything(self.seed)
        widening: AbstractContextManager[Any] = FloatWidening() if widen else nullcontext()
        with self._world(), widening, log, torch.no_grad():
            flat = flatten(call(wide, wide_inputs))
        if device != self.device:
            with suppress(torch.OutOfMemoryError):  # compared piece by piece from where it is
                flat.tensors = [tensor.to(self.device) for tensor in flat.tensors]
        return flat

    def _settle_mode(self) -> bool:
        """Keep the mode the task builds, unless it is random there (dropout): then compare in eval mode."""
        name = self.loaded.source.model_name
        if not self.model.training:
            return False
        if self._is_random():
            if self.loaded.source.mode == "train":
                raise TaskError(
                    f"{self.loaded.path}: {name} gives other results under another seed in training mode: "
                    "nothing can be compared with them; use --eval, or leave the random part (dropout) out"
                )
            self.model.eval()
            self.fell_back = True
            if self._is_random():
                raise TaskError(
                    f"{self.loaded.path}: {name} gives other results under another seed, in eval mode too: nothing "
                    "can be compared with them; leave the random part out, or pass it as an input"
                )
        return bool(self.model.training)

    def _is_random(self) -> bool:
        """Two seeds, two results."""
        try:
            inputs = self.inputs("own")
            runs = [flatten(self.run_eager(inputs, seed)) for seed in (self.seed, self.seed + 1)]
        except torch.OutOfMemoryError:
            raise
        except Exception:
            return False  # whoever asks for inputs or answers next will say what is wrong
        return not same_to_rounding(*runs)

    def steadied(self, stats: OutputStatistics, position: int) -> OutputStatistics:
        """For outputs of a few numbers, PyTorch's error over several seeds in place of a single lucky one."""
        if isinstance(stats, ExactStatistics):
            return stats
        few = stats.numel if stats.distinct is None else stats.distinct
        if few > _FEW_ELEMENTS:
            return stats
        typical = self.typical_error()[position]
        return replace(
            stats,
            eager_relative=max(stats.eager_relative, typical.relative),
            eager_max_relative=max(stats.eager_max_relative, typical.max_relative),
            effective=max(stats.effective, float(_TYPICAL_SEEDS * few)),
        )

    def typical_error(self) -> list[TypicalError]:
        """PyTorch's own error per output over several seeds: one number compared with one other tells little."""
        if self._typical is None:
            answers = [self.answer_on(self.inputs("own", self.seed + 100 + i)) for i in range(_TYPICAL_SEEDS)]
            self._typical = [_pooled(answers, position) for position in range(len(answers[0].eager.tensors))]
        return self._typical

    def _restore(self, model: nn.Module, state: State) -> None:
        named = state_of(model)
        fill(model, match(named, set(), state), state)

    def _world(self) -> AbstractContextManager[Any]:
        return pretend_cuda() if self.device == "cpu" else nullcontext()

    def _tf32(self) -> AbstractContextManager[Any]:
        return Tf32Emulation(self.precision) if self.device == "cpu" else nullcontext()


def input_shapes(loaded: LoadedTask) -> ForwardArguments | None:
    """The task's inputs as meta tensors: shapes, strides and dtypes without the memory."""
    try:
        with FakeTensorMode(), pretend_cuda():
            made = loaded.make_inputs()
    except Exception:
        return None
    return map_tensors(made, _to_meta)


def shapes_of(loaded: LoadedTask) -> str:
    """The shapes of all input tensors, to show."""
    made = input_shapes(loaded)
    return "unknown" if made is None else ", ".join(str(tuple(t.shape)) for t in tensors_in(made))


def _to_meta(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")


def _copy(inputs: ForwardArguments) -> ForwardArguments:
    return map_tensors(inputs, torch.clone)


def _size(answer: Answer) -> int:
    tensors = answer.truth.tensors + answer.eager.tensors
    return sum(t.numel() * t.element_size() for t in tensors)


def _pooled(answers: list[Answer], position: int) -> TypicalError:
    """Root mean square over the answers of PyTorch's relative errors on one output."""
    stats = [
        measure(a.eager.tensors[position], a.truth.tensors[position], a.eager.tensors[position]) for a in answers
    ]
    floats = [one for one in stats if isinstance(one, FloatStatistics)]
    return TypicalError(
        _root_mean_square([one.eager_relative for one in floats]),
        _root_mean_square([one.eager_max_relative for one in floats]),
    )


def _root_mean_square(values: list[float]) -> float:
    return math.sqrt(sum(value**2 for value in values) / len(values)) if values else 0.0
