"""The gates on a GPU, with stand-ins for both children; on a GPU tests/gpu runs the real ones."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from tilesmith.config import CheckConfig
from tilesmith.errors import MachineError, OutOfGpuMemory
from tilesmith.judge.examination import CheckFindings
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.judge.gates.gpu import compile_ahead, time_kernel
from tilesmith.process.protocol.candidate import LoadKernel, ReplayReport
from tilesmith.process.protocol.codec import Done
from tilesmith.process.protocol.comparison import Comparison, FloatStatistics
from tilesmith.process.protocol.tensors import TensorFile
from tilesmith.records import Verdict


class Child:
    """Notes what it is asked and raises what it is told to: by request, or by request and variant."""

    def __init__(self, **errors: Exception) -> None:
        self.errors, self.asked = errors, list[str]()

    def ask(self, request: Any, timeout_s: float | None = None) -> Any:
        name = f"{type(request).__name__} {getattr(request, 'variant', '')}".strip()
        self.asked.append(name)
        for key in (name.replace(" ", "_"), type(request).__name__):
            if key in self.errors:
                raise self.errors[key]
        return self.answer(request)

    def answer(self, request: Any) -> Any:
        return Done()


class Candidate(Child):
    """Answers rightly without any launch."""

    def answer(self, request: Any) -> Any:
        if hasattr(request, "outputs"):
            return ReplayReport(dict.fromkeys(request.outputs), False, None, None)
        return super().answer(request)

    def output_file(self) -> str:
        return "output"

    def restart(self) -> None:
        self.asked.append("restart")


class Reference(Child):
    gpu: Lock
    k = 2.0
    compiling = threading.Lock()
    plans: ClassVar = {"shrunk": "", "odd 1": "", "odd 2": ""}

    def answer(self, request: Any) -> Any:
        return Comparison((FloatStatistics("float", "float32", 4, 0, *[1e-7] * 6, 1e9, ()),))

    def on_gpu(self, gpu: Any) -> Any:
        return gpu()

    def construction(self, variant: str) -> str:
        return variant

    def accepts(self, variant: str, draw: str) -> bool:
        assert self.gpu.is_held, "it draws and runs eager"
        return True

    def inputs(self, variant: str, draw: str) -> TensorFile:
        assert self.gpu.is_held
        if "inputs" in self.errors:
            raise self.errors["inputs"]
        return TensorFile("inputs")


class Lock:
    is_held = False

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        self.is_held = True
        yield
        self.is_held = False


def examination(candidate: Candidate, reference: Reference | None = None) -> Any:
    reference = reference or Reference()
    reference.gpu = Lock()
    return SimpleNamespace(
        candidate=candidate,
        reference=reference,
        lock=reference.gpu,
        config=CheckConfig(),
        values=SimpleNamespace(release=lambda: candidate.asked.append("release"), frugal=True),
        load=LoadKernel("kernel.py", "", "cuda", "sm_90", "default"),
        findings=CheckFindings(),
        with_extra=lambda draws: draws,
    )


def test_a_kernel_that_refuses_another_shape_is_replayed_and_compiled_for_the_next() -> None:
    candidate = Candidate(ConstructModel_odd_1=GateFailed(Verdict.RUNTIME_ERROR, "one shape only"))
    found = compile_ahead(examination(candidate))
    assert found.replayed.accusation is not None
    assert "CompileAhead odd 2" in candidate.asked
    assert found.notes == ()


def test_memory_is_given_back_after_every_call_without_launches() -> None:
    candidate = Candidate()
    compile_ahead(examination(candidate))
    muted = [i for i, name in enumerate(candidate.asked) if name.startswith(("CompileAhead", "Replay"))]
    assert [candidate.asked[i + 1] for i in muted] == ["release"] * len(muted)


@pytest.mark.parametrize(
    "broken",
    [
        examination(Candidate(ReplayWithoutLaunches=GateFailed(Verdict.TIMEOUT, "it hangs"))),
        examination(Candidate(), Reference(inputs=OutOfGpuMemory("it hangs"))),
        examination(Candidate(CompileAhead_exact=MachineError("it hangs"))),
    ],
    ids=["hangs", "memory", "machine"],
)
def test_a_replay_that_did_not_take_place_is_noted(broken: Any) -> None:
    found = compile_ahead(broken)
    assert found.notes == ("not replayed without its launches: it hangs",)
    assert found.replayed.accusation is None


def test_an_accusation_on_another_shape_counts() -> None:
    caught = GateFailed(Verdict.CHEATING, "it reads files")
    candidate = Candidate(CompileAhead_odd_2=caught, ReplayWithoutLaunches=GateFailed(Verdict.CRASHED, "gone"))
    assert compile_ahead(examination(candidate)).replayed.accusation is caught


def test_a_timing_that_does_not_fit_leaves_its_memory_to_others() -> None:
    candidate = Candidate()
    found = time_kernel(examination(candidate, Reference(BuildBaseline=OutOfGpuMemory("full"))))
    assert candidate.asked == ["release"] * 2, "before and after"
    assert "not timed: the GPU has too little memory" in found.notes[-1]


@pytest.mark.parametrize("request_name", ["LoadKernel", "ConstructModel"])
def test_a_kernel_that_cannot_be_made_is_not_tried_again(request_name: str) -> None:
    candidate = Candidate(**{request_name: GateFailed(Verdict.RUNTIME_ERROR, "no such module")})
    with pytest.raises(GateFailed, match="no such module"):
        compile_ahead(examination(candidate))
    assert candidate.asked.count("LoadKernel") == 1


def test_a_gpu_that_fails_before_the_kernel_is_there_is_not_its_fault() -> None:
    candidate = Candidate(WarmUpGpu=GateFailed(Verdict.CRASHED, "gone"))
    compile_ahead(examination(candidate))
    assert candidate.asked[:3] == ["WarmUpGpu", "restart", "LoadKernel"]
