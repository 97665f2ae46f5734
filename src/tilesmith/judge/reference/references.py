"""The references of a judge's tasks: started once, shared by checks, and let go when there are too many.

A large one gives its memory back when its last check ends: what took long to make (compiled baselines, the model)
stays. Checks wait until there is room for them on the GPU.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tilesmith.errors import MachineError, OutOfGpuMemory
from tilesmith.judge.machine.gpu_memory_room import EVERYTHING, GpuMemoryRoom, least_memory, memory_need
from tilesmith.judge.sessions import ReferenceSession
from tilesmith.process.protocol.reference import MeasureFreeMemory
from tilesmith.process.protocol.tensors import ReleaseMemory
from tilesmith.tasks.source import TaskSource

_KEPT_WARM = 8
LARGE_BYTES = 512 * 2**20
"""Tasks that move more than this see fewer draws at their exact shape."""
_HELD_BYTES = 64 * 2**20
"""Those that move more than this give their memory back when nobody uses them."""

Open = Callable[[TaskSource, Path], ReferenceSession]


@dataclass
class _Entry:
    session: ReferenceSession | None = None
    users: int = 0
    opening: threading.Lock = field(default_factory=threading.Lock)


class References:
    """Hands out reference sessions; safe to use from several threads."""

    def __init__(self, open_session: Open, folder: Path, room: GpuMemoryRoom) -> None:
        self._open, self._folder = open_session, folder
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}
        self._room = room
        self._at_work: Counter[ReferenceSession] = Counter()
        """How many checks use the memory of each reference."""
        self._numbers = itertools.count()
        """A reopened task gets a folder of its own: the old one may still be on its way out."""

    @contextlib.contextmanager
    def of(self, task: TaskSource) -> Iterator[ReferenceSession]:
        key = hashlib.sha256(repr(task).encode()).hexdigest()[:16]
        entry = self._enter(key)
        try:
            with entry.opening:
                if entry.session is None:
                    entry.session = self._open(task, self._folder / f"task-{key}-{next(self._numbers)}")
                if entry.session.broken:
                    entry.session.restart()
            yield entry.session
        finally:
            self._leave(key, entry)

    @contextlib.contextmanager
    def room_for(self, session: ReferenceSession, alone: bool = False) -> Iterator[bool]:
        """Waits until a check of this task fits on the GPU. Yields whether it must be frugal: it fits only when
        everybody gives back at once what he does not use."""
        if session.environment.memory_bytes is None:
            yield False
            return
        need = memory_need(session.profile)
        with self._room.reserved(EVERYTHING if alone else need, lambda: _free_bytes(session)) as free:
            if (least := least_memory(session.profile)) > free:
                raise OutOfGpuMemory(
                    f"a verdict on this task takes at least {least / 1e9:.1f} GB of GPU memory, and "
                    f"{free / 1e9:.1f} GB can be had: free some, make the task smaller, or use a larger GPU"
                )
            with self._lock:
                self._at_work[session] += 1
            try:
                yield alone or need > free
            finally:
                with self._lock:
                    self._at_work[session] -= 1
                    is_last = not self._at_work[session]
                if is_last and (session.profile.bytes_moved or _HELD_BYTES) >= _HELD_BYTES:
                    with contextlib.suppress(MachineError):  # gone, and its memory with it
                        session.ask(ReleaseMemory())

    def close(self) -> None:
        with self._lock:
            entries = [*self._entries.values()]
            self._entries.clear()
        for entry in entries:
            if entry.session is not None:
                entry.session.close()

    def _enter(self, key: str) -> _Entry:
        with self._lock:
            entry = self._entries.pop(key, None) or _Entry()
            self._entries[key] = entry  # most recently used last
            entry.users += 1
            return entry

    def _leave(self, key: str, entry: _Entry) -> None:
        with self._lock:
            entry.users -= 1
            idle = [k for k, e in self._entries.items() if e.users == 0]
            leaving = idle[: max(0, len(self._entries) - _KEPT_WARM)]
            if key in idle and (entry.session is None or entry.session.broken):
                leaving = list({*leaving, key})
            closed = [self._entries.pop(k) for k in leaving]
        for one in closed:
            if one.session is not None:
                self._at_work.pop(one.session, None)
                one.session.close()


def is_large(session: ReferenceSession) -> bool:
    return (session.profile.bytes_moved or 0) > LARGE_BYTES


def _free_bytes(session: ReferenceSession) -> int:
    return session.ask(MeasureFreeMemory()).bytes
