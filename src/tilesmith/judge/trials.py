"""Rival texts for one task, compiled for the GPU and timed on it. None of this is a verdict.

Texts are compiled several at a time, each in a child of its own, which needs no GPU. One more child then times them
one after the other, with what the others have compiled. The texts are our own, so that children may share that.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from statistics import median
from typing import TypeVar

from tilesmith.errors import MachineError
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.judge.machine.gpu_lock import GpuLock
from tilesmith.judge.sessions import MANY_KERNELS, CandidateSession, ReferenceSession
from tilesmith.process import folders
from tilesmith.process.fork_server_client import Child, Spawn
from tilesmith.process.protocol.candidate import (
    CompileAhead,
    CompileLaunches,
    ConstructModel,
    DeviceWork,
    LoadKernel,
    PrepareTiming,
    ProfileCalls,
    RecordExactLaunches,
    TimeCalls,
    WarmUpGpu,
)
from tilesmith.process.protocol.codec import Request
from tilesmith.process.protocol.tensors import ReleaseMemory
from tilesmith.records import KernelResources

R = TypeVar("R")
_MOST_AT_ONCE = 8
_FAILURES = (GateFailed, MachineError)
_LITTLE_SPILLED = 1024
"""Bytes a thread that the clock decides about, where there is one: the largest tiles of products and convolutions
keep so much aside around their loops, not inside them, which costs next to nothing."""


@dataclass(frozen=True)
class CompiledTrial:
    """What the compiler says of one text."""

    spills: dict[str, int]
    """Bytes by the name of the kernel, for those that it took, as `spilled_bytes` counts them."""
    refused: tuple[str, ...] = ()
    """Kernels that do not fit the GPU."""
    problem: str | None = None
    """Why nothing is known of this text."""
    resources: tuple[KernelResources, ...] = ()
    """Of each specialization."""


def owner_of(name: str, kernels: Sequence[str]) -> str | None:
    """Whose kernel has this name: what names begin with may begin with one another, and the longest counts."""
    return max((one for one in kernels if name.startswith(one)), key=len, default=None)


def share_work(work: Sequence[DeviceWork], kernels: Sequence[str]) -> dict[str, float]:
    """Milliseconds of each kernel that ran. What ran before one, and is nobody's, was done for it."""
    found: dict[str, float] = {}
    waiting, last = 0.0, None
    for one in work:
        waiting += one.ms
        if (owner := owner_of(one.name, kernels)) is not None:
            found[owner] = found.get(owner, 0.0) + waiting
            waiting, last = 0.0, owner
    return found | ({last: found[last] + waiting} if last is not None else {})


def spilled_bytes(resources: Sequence[KernelResources], is_timed: bool) -> dict[str, int]:
    """The most that a specialization of each kernel spills; where kernels are timed, a little counts as nothing."""
    spills: dict[str, int] = {}
    for one in resources:
        is_little = is_timed and (one.spills or 0) <= _LITTLE_SPILLED
        spills[one.kernel] = max(0 if is_little else one.spills or 0, spills.get(one.kernel, 0))
    return spills


class KernelTrials:
    """The children that try texts of one task; close it to end them."""

    def __init__(
        self,
        load: Callable[[str], LoadKernel],
        reference: ReferenceSession,
        spawn: Spawn,
        folder: Path,
        timeout_s: float,
        is_timed: bool,
        lock: GpuLock,
    ) -> None:
        self._load, self._reference, self._spawn, self._timeout_s = load, reference, spawn, timeout_s
        self.is_timed = is_timed
        """Whether there is a GPU with room for it: else nothing but the compiler can be asked."""
        self._binaries = folder / "triton"
        """What the compilers' children leave for one another and for the one that times."""
        self._copying = threading.Lock()
        self._lock = lock
        self._child: Child | None = None
        """The one that times."""
        self._has_binaries = False
        """Whether it has all that the others compiled."""
        self._prepared: set[str] = set()
        """Texts that it has compiled."""

    def compile(self, texts: Sequence[str], limit_s: float) -> list[CompiledTrial]:
        """Of the first texts, as many as are begun in that time, and one at least."""
        until = time.monotonic() + limit_s
        blueprint = self._reference.blueprint()
        if blueprint is None:
            unknown = CompiledTrial({}, problem="the task's shapes cannot be had without its data")
            return [unknown for _ in texts]
        at_once = max(1, min(_MOST_AT_ONCE, (os.cpu_count() or 2) // 2, len(texts)))
        self._has_binaries = False
        with ThreadPoolExecutor(at_once) as pool:
            begun = [pool.submit(self._compile_in_time, text, blueprint, until) for text in texts[1:]]
            found = [self._compile_one(texts[0], blueprint), *(one.result() for one in begun)]
        return [one for one in takewhile(lambda one: one is not None, found) if one is not None]

    def _compile_in_time(self, text: str, blueprint: str, until: float) -> CompiledTrial | None:
        return self._compile_one(text, blueprint) if time.monotonic() < until else None

    def _compile_one(self, text: str, blueprint: str) -> CompiledTrial:
        child = self._spawn("native", "compiler")
        compiler = CandidateSession(lambda: child, self._timeout_s)
        self._hand_binaries(child)
        try:
            compiler.ask(self._load(text))
            compiler.ask(RecordExactLaunches(blueprint))
            asked = CompileLaunches(goes_on=True, to_the_last=self.is_timed)  # what is left, one child compiles
            compiled = compiler.ask(asked, MANY_KERNELS * self._timeout_s)
        except _FAILURES as failed:
            return CompiledTrial({}, problem=str(failed))
        finally:
            child.end()
            with self._copying:
                folders.copy_plain_files(child.folder / "triton", self._binaries)
            child.close()
        spills = spilled_bytes(compiled.resources, self.is_timed)
        return CompiledTrial(spills, compiled.refused, resources=tuple(compiled.resources))

    def _hand_binaries(self, child: Child) -> None:
        """Whatever was compiled so far."""
        with self._copying:
            if self._binaries.exists():
                folders.copy_triton_cache(self._binaries, child.folder / "triton")

    def time_ms(self, text: str, calls: int) -> float | None:
        """The median time on the GPU; none where the text does not run."""
        timed = self._asked(text, TimeCalls(tuple(range(calls)), kept=0))
        return median(device_ms for device_ms, _ in timed.samples) if timed and timed.samples else None

    def time_kernels(self, text: str, calls: int, kernels: Sequence[str]) -> dict[str, float]:
        """The median time of each kernel that ran, by what its name begins with."""
        profiled = self._asked(text, ProfileCalls(tuple(range(calls))))
        found = [share_work(work, kernels) for work in profiled.calls] if profiled else []
        everywhere = [name for name in kernels if found and all(name in one for one in found)]
        return {name: median(one[name] for one in found) for name in everywhere}

    def _asked(self, text: str, request: Request[R]) -> R | None:
        assert self.is_timed
        try:
            candidate = self._loaded(text)
            with self._reference.on_gpu(self._lock.shared):
                candidate.ask(PrepareTiming("exact", self._reference.inputs("exact", "own"), None))
            with self._lock.alone():
                return candidate.ask(request)
        except _FAILURES:
            self.close()
            return None

    def _loaded(self, text: str) -> CandidateSession:
        """In the child that is there if it is sound, else in a fresh one."""
        if self._child is not None:
            try:
                candidate = self._session(self._child)
                candidate.ask(ReleaseMemory())
                candidate.ask(self._load(text))
                return self._constructed(candidate, text)
            except _FAILURES:
                self.close()
        self._child = self._spawn("native", "candidate")
        candidate = self._session(self._child)
        candidate.ask(WarmUpGpu())
        candidate.ask(self._load(text))
        return self._constructed(candidate, text)

    def _session(self, child: Child) -> CandidateSession:
        return CandidateSession(lambda: child, self._timeout_s)

    def _constructed(self, candidate: CandidateSession, text: str) -> CandidateSession:
        construct = ConstructModel("exact", self._reference.construction("exact"))
        candidate.ask(construct)
        if text not in self._prepared:
            if self._child is not None and not self._has_binaries:
                self._hand_binaries(self._child)
                self._has_binaries = True
            with self._reference.on_gpu(self._lock.shared):
                inputs = self._reference.inputs("exact", "own")
            many_s = MANY_KERNELS * self._timeout_s
            candidate.ask(CompileAhead("exact", inputs), many_s)  # without the lock, because it may take long
            candidate.ask(construct)  # anew: what kernels that did nothing have left must not stay
            self._prepared.add(text)
        return candidate

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None
        self._prepared.clear()
        self._has_binaries = False
