"""What the child that times is asked, in order, and how it is replaced when a text breaks it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tilesmith.judge.machine.gpu_lock import GpuLock
from tilesmith.judge.trials import KernelTrials, share_work
from tilesmith.process.fork_server_client import ChildGone
from tilesmith.process.protocol.candidate import (
    DeviceWork,
    LoadKernel,
    ProfileCalls,
    ProfiledCalls,
    TimeCalls,
    TimedCalls,
)
from tilesmith.process.protocol.codec import Done, RequestFailed, RequestFailure
from tilesmith.process.protocol.tensors import TensorFile


def work(**ms: float) -> tuple[DeviceWork, ...]:
    return tuple(DeviceWork(f"{name}_kernel", spent) for name, spent in ms.items())


class FakeChild:
    walls: tuple[str, ...] = ()

    def __init__(self, number: int, folder: Path, asked: list[str]) -> None:
        self.number, self.folder, self.outbox, self._asked = number, folder, folder, asked
        self._text = ""
        folder.mkdir()

    def ask(self, request: Any, timeout_s: float) -> Any:
        self._asked.append(f"{self.number} {type(request).__name__}")
        if isinstance(request, LoadKernel):
            self._text = request.text
        if isinstance(request, LoadKernel) and request.text == "dies":
            raise ChildGone("signal:11", "")
        if isinstance(request, TimeCalls):
            if self._text == "fails":
                raise RequestFailed(RequestFailure("kernel", "it fails", "runtime_error"))
            samples = tuple((float(self._text), 9.0) for _ in request.seeds)
            return TimedCalls(samples, (), (), 1)
        if isinstance(request, ProfileCalls):
            return ProfiledCalls(tuple(work(a=1.0 + seed, fill=0.5, b=2.0) for seed in request.seeds))
        return Done()

    def end(self) -> None: ...

    def close(self) -> None:
        self._asked.append(f"{self.number} closed")


class FakeReference:
    def construction(self, variant: str) -> str:
        return f"{variant}.data"

    def inputs(self, variant: str, draw: str) -> TensorFile:
        return TensorFile(f"{variant}-{draw}.data")

    @contextlib.contextmanager
    def on_gpu(self, gpu: Callable[[], contextlib.AbstractContextManager[None]]) -> Iterator[None]:
        with gpu():
            yield


@pytest.fixture
def asked() -> list[str]:
    return []


@pytest.fixture
def trials(tmp_path: Path, asked: list[str]) -> KernelTrials:
    children: list[FakeChild] = []

    def spawn(flavor: str, role: str) -> Any:
        assert (flavor, role) == ("native", "candidate")
        children.append(FakeChild(len(children), tmp_path / f"child-{len(children)}", asked))
        return children[-1]

    def load(text: str) -> LoadKernel:
        return LoadKernel("kernel.py", text, "cuda", "sm_90", "default")

    return KernelTrials(load, FakeReference(), spawn, tmp_path, 5.0, True, GpuLock(tmp_path))  # type: ignore[arg-type]


FIRST_VISIT = ["LoadKernel", "ConstructModel", "CompileAhead", "ConstructModel", "PrepareTiming", "TimeCalls"]
NEXT_VISIT = ["ReleaseMemory", "LoadKernel", "ConstructModel", "PrepareTiming", "TimeCalls"]


def test_a_text_is_compiled_before_it_is_timed_and_not_again(trials: KernelTrials, asked: list[str]) -> None:
    assert trials.time_ms("1.5", 3) == 1.5
    assert asked == [f"0 {name}" for name in ["WarmUpGpu", *FIRST_VISIT]]
    asked.clear()
    assert trials.time_ms("2.5", 3) == 2.5
    assert asked == [f"0 {name}" for name in ["ReleaseMemory", *FIRST_VISIT]]
    asked.clear()
    assert trials.time_ms("1.5", 20) == 1.5
    assert asked == [f"0 {name}" for name in NEXT_VISIT]


def test_what_was_compiled_elsewhere_is_at_hand(trials: KernelTrials, tmp_path: Path) -> None:
    (tmp_path / "triton" / "hash").mkdir(parents=True)
    (tmp_path / "triton" / "hash" / "kernel.cubin").write_text("binary")
    trials.time_ms("1.5", 3)
    assert (tmp_path / "child-0" / "triton" / "hash" / "kernel.cubin").read_text() == "binary"


def test_after_a_failure_the_next_text_gets_a_fresh_child(trials: KernelTrials, asked: list[str]) -> None:
    assert trials.time_ms("fails", 3) is None
    assert trials.time_ms("2.5", 3) == 2.5
    assert asked[-len(FIRST_VISIT) - 2 :] == ["0 closed", *(f"1 {name}" for name in ["WarmUpGpu", *FIRST_VISIT])]


def test_a_text_that_kills_a_used_child_is_tried_once_more_in_a_fresh_one(
    trials: KernelTrials, asked: list[str]
) -> None:
    """What ran before may have broken it."""
    trials.time_ms("1.5", 3)
    asked.clear()
    assert trials.time_ms("dies", 3) is None
    assert asked == ["0 ReleaseMemory", "0 LoadKernel", "0 closed", "1 WarmUpGpu", "1 LoadKernel", "1 closed"]


def test_closing_ends_the_child(trials: KernelTrials, asked: list[str]) -> None:
    trials.time_ms("1.5", 3)
    trials.close()
    trials.close()
    assert asked.count("0 closed") == 1


def test_kernels_of_one_file_are_timed_apart(trials: KernelTrials) -> None:
    assert trials.time_kernels("1.5", 3, ["a", "b"]) == {"a": 2.0, "b": 2.5}
    assert trials.time_kernels("1.5", 3, ["a", "b", "c"]) == {"a": 2.0, "b": 2.5}
    assert trials.time_kernels("dies", 3, ["a"]) == {}


def test_what_runs_for_a_kernel_counts_as_its_own() -> None:
    """What comes before it, and what is left at the end; of two names that fit the longer one counts."""
    ran = (*work(fill=1.0, conv=2.0), *work(copy=4.0, conv_1=8.0), *work(conv=16.0, clone=32.0))
    assert share_work(ran, ["conv", "conv_1"]) == {"conv": 1.0 + 2.0 + 16.0 + 32.0, "conv_1": 4.0 + 8.0}
    assert share_work(work(fill=1.0), ["conv"]) == {}
