"""What a candidate must beat: the reference eager, replayed from a CUDA graph, and through `torch.compile`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tilesmith.worker.task.forward_arguments import ForwardArguments, call
from tilesmith.worker.tensors.gpu_memory import give_back_unused
from tilesmith.worker.timing.stopwatch import Stopwatch, TimedTurn
from tilesmith.worker.timing.timing_inputs import TimingInputs
from tilesmith.worker.truth.variant import Variant

_WARM_UP_CALLS = 3


def timing_inputs(variant: Variant, single_draw: bool) -> TimingInputs:
    second = None if single_draw else variant.second_inputs()
    return TimingInputs(variant.inputs("own"), second)


class Baselines:
    """Built on demand, kept for the next candidate of the same task."""

    def __init__(self, variant: Variant, single_draw: bool) -> None:
        self._model, self.single_draw = variant.model, single_draw
        self.inputs = timing_inputs(variant, single_draw)
        self._stopwatch = Stopwatch(self.inputs)
        self._calls: dict[str, Callable[[ForwardArguments], Any]] = {}
        self._refused: dict[str, str] = {}

    def build(self, kind: str) -> str | None:
        if kind in self._calls or kind in self._refused:
            return self._refused.get(kind)
        makers = {"eager": self._eager, "graph": self._graph, "compile": self._compile}
        try:
            with torch.no_grad():
                self._calls[kind] = makers[kind]()
        except Exception as error:
            if kind == "eager" and isinstance(error, torch.OutOfMemoryError):
                raise  # without it nothing is timed
            first = (str(error).strip().splitlines() or [""])[0][:200]
            self._refused[kind] = f"{type(error).__name__}: {first}"
        give_back_unused()
        return self._refused.get(kind)

    def time(self, kind: str, seeds: list[int]) -> TimedTurn:
        self.build(kind)  # again, if the memory was given back since
        with torch.no_grad():
            return self._stopwatch.time(self._calls[kind], seeds, digests=kind == "eager")

    def run_many_calls(self, kind: str | None, seed: int, calls: int) -> None:
        """For a clock outside; without a `kind`, all that surrounds that many calls, without them."""
        if kind is not None:
            self.build(kind)
        with torch.no_grad():
            self._stopwatch.run_many_calls(self._calls[kind] if kind else None, seed, calls)

    def _eager(self) -> Callable[[ForwardArguments], Any]:
        self._warm_up(self._model)
        return lambda inputs: call(self._model, inputs)

    def _graph(self) -> Callable[[ForwardArguments], Any]:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self._warm_up(self._model)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            call(self._model, self._stopwatch.inputs)
        return lambda _: graph.replay()

    def _compile(self) -> Callable[[ForwardArguments], Any]:
        compiled = torch.compile(self._model)
        self._warm_up(compiled)
        return lambda inputs: call(compiled, inputs)

    def _warm_up(self, model: Any) -> None:
        for _ in range(_WARM_UP_CALLS):
            call(model, self._stopwatch.inputs)
        torch.cuda.synchronize()
