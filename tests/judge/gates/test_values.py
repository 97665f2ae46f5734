"""The values of a kernel on a GPU, with stand-ins for both children."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Any, ClassVar

import pytest

from tilesmith.config import CheckConfig
from tilesmith.errors import OutOfGpuMemory
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.judge.gates.values import Values
from tilesmith.process.descriptor import Descriptor
from tilesmith.process.protocol.candidate import ForwardReport, RunForward
from tilesmith.process.protocol.codec import Done
from tilesmith.process.protocol.comparison import Comparison, FloatStatistics
from tilesmith.process.protocol.reference import CompareOutputs
from tilesmith.process.protocol.tensors import TensorFile


class Candidate:
    def __init__(self, *grids: str) -> None:
        """`grids`: what each call launches; the last one stands for all that follow."""
        self.grids = list(grids)

    def ask(self, request: Any, timeout_s: float | None = None) -> Any:
        if not isinstance(request, RunForward):
            return Done()
        memory = Descriptor(os.open(os.devnull, os.O_RDONLY))
        grids = tuple(self.grids[:1]) if len(self.grids) < 2 else (self.grids.pop(0),)
        return ForwardReport(("kernel",), (), (), ("cuda",), None, (), 0, memory, grids=grids)

    def output_file(self) -> str:
        return "output"


class Reference:
    k = 2.0
    lost_draws: ClassVar[dict[Any, str]] = {}

    def __init__(self, fails_on: str) -> None:
        self.fails_on = fails_on

    def on_gpu(self, gpu: Any) -> Any:
        return gpu()

    def accepts(self, variant: str, draw: str) -> bool:
        return True

    def inputs(self, variant: str, draw: str) -> TensorFile:
        return TensorFile("inputs")

    def ask(self, request: Any, timeout_s: float | None = None) -> Any:
        if not isinstance(request, CompareOutputs):
            return Done()
        assert request.outputs.memory is not None
        assert request.outputs.memory.sent_once
        if request.draw == self.fails_on:
            raise OutOfGpuMemory("full")
        return Comparison((FloatStatistics("float", "float32", 4, 0, *[1e-7] * 6, 1e9, ()),))


def values(reference: Reference, candidate: Candidate | None = None) -> Values:
    config, children = CheckConfig(), (candidate or Candidate(), reference)
    return Values(*children, config, "cuda", nullcontext, frugal=True)  # type: ignore[arg-type]


def test_a_draw_that_cannot_be_compared_for_want_of_memory_is_noted() -> None:
    report = values(Reference("wild")).check("exact", 60.0, ("own", "wild", "large"))
    assert report.draws == ("own", "large")
    assert report.notes == ("not checked on wild inputs: full",)


def test_without_the_tasks_own_draw_there_is_no_verdict() -> None:
    with pytest.raises(OutOfGpuMemory):
        values(Reference("own")).check("exact", 60.0, ("own", "wild"))


def test_a_smaller_grid_on_inputs_that_were_seen_before_is_cheating() -> None:
    honest = values(Reference(""), Candidate("k on a grid of (8,)"))
    honest.check("exact", 60.0, ("own", "wild"))
    assert honest.check_again("exact") == ("kernel",)
    remembers = values(Reference(""), Candidate(*["k on a grid of (8,)"] * 2, "k on a grid of (1,)"))
    remembers.check("exact", 60.0, ("own", "wild"))
    with pytest.raises(GateFailed, match=r"later calls launch k on a grid of \(1,\)"):
        remembers.check_again("exact")
