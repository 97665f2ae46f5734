"""The references of a judge's tasks: started once, shared by checks, and let go when they cost too much.

Small tasks stay warm. A large one is closed when its last check ends, because its tensors fill the GPU that the
next task needs; and checks of large tasks wait until there is room for them.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tilesmith.judge.sessions import ReferenceSession
from tilesmith.tasks.source import TaskSource

_KEPT_WARM = 8
LARGE_BYTES = 512 * 2**20
"""Tasks that move more than this are not kept, and see fewer draws at their exact shape."""
_PEAK_FACTOR = 12
"""Float64 copies, eager outputs, padded tensors and intermediates, per byte the task moves."""

Open = Callable[[TaskSource, Path], ReferenceSession]


@dataclass
class _Entry:
    session: ReferenceSession | None = None
    users: int = 0
    opening: threading.Lock = field(default_factory=threading.Lock)


class References:
    """Hands out reference sessions; safe to use from several threads."""

    def __init__(self, open_session: Open, folder: Path) -> None:
        self._open, self._folder = open_session, folder
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}
        self._room = MemoryRoom()
        self._numbers = itertools.count()
        """A reopened task gets a folder of its own: the old one may still be on its way out."""

    @contextlib.contextmanager
    def of(self, task: TaskSource) -> Iterator[ReferenceSession]:
        key = hashlib.sha256(f"{task.path}\0{task.text}".encode()).hexdigest()[:16]
        entry = self._enter(key)
        try:
            with entry.opening:
                if entry.session is None:
                    entry.session = self._open(task, self._folder / f"task-{key}-{next(self._numbers)}")
                if entry.session.broken:
                    entry.session.restart()
            session = entry.session
            with self._room.taken(peak_bytes(session), session.environment.memory_bytes or 0):
                yield session
        finally:
            self._leave(key, entry)

    def close(self) -> None:
        for entry in self._entries.values():
            if entry.session is not None:
                entry.session.close()
        self._entries.clear()

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
            if key in idle and (entry.session is None or entry.session.broken or is_large(entry.session)):
                leaving = list({*leaving, key})
            closed = [self._entries.pop(k) for k in leaving]
        for one in closed:
            if one.session is not None:
                one.session.close()


class MemoryRoom:
    """Lets checks in while their estimated peaks fit the GPU together; one alone always fits."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._held = 0

    @contextlib.contextmanager
    def taken(self, wanted: int, total: int) -> Iterator[None]:
        share = min(wanted, int(total * 0.9)) if total else 0
        with self._changed:
            self._changed.wait_for(lambda: self._held == 0 or self._held + share <= total * 0.9)
            self._held += share
        try:
            yield
        finally:
            with self._changed:
                self._held -= share
                self._changed.notify_all()


def is_large(session: ReferenceSession) -> bool:
    return (session.profile.bytes_moved or 0) > LARGE_BYTES


def peak_bytes(session: ReferenceSession) -> int:
    return _PEAK_FACTOR * (session.profile.bytes_moved or 0) + 2**30
