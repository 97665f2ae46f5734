"""Who may use the GPU: many checks at once for values, one alone for timing, across threads and processes."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


class GpuLock:
    """A reader-writer lock on two files.

    Whoever waits to time holds the turnstile, together with others who do, so that nobody comes in between and the
    GPU is emptied once for all of them.
    """

    def __init__(self, folder: Path | None = None) -> None:
        base = folder or Path(tempfile.gettempdir())
        owner = os.getuid()
        self._turnstile = base / f"tilesmith-{owner}-gpu.turnstile"
        self._main = base / f"tilesmith-{owner}-gpu.lock"

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        with self._held(self._turnstile, fcntl.LOCK_EX):
            main = self._open(self._main, fcntl.LOCK_SH)
        try:
            yield
        finally:
            os.close(main)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        with self._held(self._turnstile, fcntl.LOCK_SH), self._held(self._main, fcntl.LOCK_EX):
            yield

    @contextlib.contextmanager
    def _held(self, path: Path, kind: int) -> Iterator[None]:
        descriptor = self._open(path, kind)
        try:
            yield
        finally:
            os.close(descriptor)

    def _open(self, path: Path, kind: int) -> int:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(descriptor, kind)
        return descriptor
