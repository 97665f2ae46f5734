"""Room in the GPU's memory: checks enter while their needs fit together, across threads and processes.

Who holds how much is a list in a locked file. Who comes first enters first, so that a large task is not kept out by
an endless row of small ones; what fits nowhere beside others runs alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path

from tilesmith.judge.machine.gpu_lock import files_of_gpu
from tilesmith.tasks.roofline import TaskProfile

EVERYTHING = 1 << 62
"""More than any GPU has: for a check that must be alone."""
_USABLE = 0.95
_POLL_S = 0.02
_CONTEXTS = 2 * 2**30
"""What CUDA itself takes in the processes of one check."""


def memory_need(profile: TaskProfile) -> int:
    """The bytes that one check holds at its worst, when it compares what was timed.

    The reference holds the two draws that timing mixes and their mixture, what its baselines allocate, eager's
    inputs and outputs, everything in float64 and an intermediate; three outputs of the candidate wait beside it.
    """
    if profile.bytes_moved is None:
        return EVERYTHING
    inputs, weights, outputs = profile.input_bytes or 0, profile.parameter_bytes or 0, profile.output_bytes or 0
    return 9 * inputs + 5 * weights + 10 * outputs + _CONTEXTS


def least_memory(profile: TaskProfile) -> int:
    """The bytes without which there is no verdict: everybody gives back at once what he does not use, and the truth
    is computed on the CPU. Then the reference holds the candidate's outputs, its inputs, their copy, eager's
    outputs and an intermediate."""
    inputs, weights, outputs = profile.input_bytes or 0, profile.parameter_bytes or 0, profile.output_bytes or 0
    return 2 * inputs + 2 * weights + 3 * outputs + _CONTEXTS // 2


@dataclass(frozen=True)
class _Reservation:
    pid: int
    started: int | None
    """When the process began: its number may be given out again."""
    token: str
    size: int
    admitted: bool = False


@dataclass(frozen=True)
class _Ledger:
    free: int = 0
    """How much there was when the first of those who are in now entered."""
    entries: tuple[_Reservation, ...] = field(default=())

    def admitting(self, token: str, measure_free: Callable[[], int]) -> _Ledger | None:
        """With that entry let in; None where it must wait."""
        waiting = [entry for entry in self.entries if not entry.admitted]
        inside = [entry for entry in self.entries if entry.admitted]
        if waiting[0].token != token:
            return None
        if inside and sum(entry.size for entry in inside) + waiting[0].size > _USABLE * self.free:
            return None
        entries = tuple(replace(one, admitted=True) if one.token == token else one for one in self.entries)
        return _Ledger(self.free if inside else measure_free(), entries)


class GpuMemoryRoom:
    """The memory of one GPU, shared by all judges of one user on this machine."""

    def __init__(self, folder: Path | None = None, gpu: str | None = None) -> None:
        self._path = files_of_gpu(gpu, folder).with_suffix(".memory")

    @contextlib.contextmanager
    def reserved(self, size: int, measure_free: Callable[[], int]) -> Iterator[int]:
        """Waits until `size` bytes fit beside the others. Yields how much is free for all of them together."""
        pid = os.getpid()
        entry = _Reservation(pid, _start_of(pid), secrets.token_hex(8), size)
        try:
            yield self._wait(entry, measure_free)
        finally:
            with self._ledger() as ledger:
                ledger.remove(entry.token)

    def _wait(self, entry: _Reservation, measure_free: Callable[[], int]) -> int:
        while True:
            with self._ledger() as ledger:
                ledger.add(entry)  # again, if the list was torn since
                admitted = ledger.content.admitting(entry.token, measure_free)
                if admitted is not None:
                    ledger.content = admitted
                    return int(_USABLE * admitted.free)
            time.sleep(_POLL_S)

    @contextlib.contextmanager
    def _ledger(self) -> Iterator[_OpenLedger]:
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            opened = _OpenLedger(os.pread(descriptor, 1 << 20, 0))
            yield opened
            # In one piece, over all that was there: who is killed leaves the old list or the new one.
            os.pwrite(descriptor, opened.text().ljust(os.fstat(descriptor).st_size), 0)
        finally:
            os.close(descriptor)


class _OpenLedger:
    """The list while its file is locked; whoever died is struck off."""

    def __init__(self, text: bytes) -> None:
        self.content = _Ledger()
        with contextlib.suppress(ValueError, TypeError, AttributeError):  # a torn file: whoever is in, stays in
            data = json.loads(text or b"{}")
            entries = tuple(_Reservation(*one) for one in data.get("entries", ()))
            alive = tuple(one for one in entries if one.started == _start_of(one.pid))
            self.content = _Ledger(data.get("free", 0), alive)

    def add(self, entry: _Reservation) -> None:
        """Unless it is there."""
        if all(one.token != entry.token for one in self.content.entries):
            self.content = replace(self.content, entries=(*self.content.entries, entry))

    def remove(self, token: str) -> None:
        kept = tuple(entry for entry in self.content.entries if entry.token != token)
        self.content = replace(self.content, entries=kept)

    def text(self) -> bytes:
        entries = [astuple(one) for one in self.content.entries]
        return json.dumps({"free": self.content.free, "entries": entries}).encode()


def _start_of(pid: int) -> int | None:
    """When a process began, in the kernel's ticks; None where there is none of that number."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except OSError:
        return None
