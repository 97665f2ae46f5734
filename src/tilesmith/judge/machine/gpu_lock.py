"""Who may use the GPU: many checks at once for values, one alone for timing, across threads and processes."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from tilesmith.judge.machine.devices import visible_gpus

_PROMPT_S = 0.0005


def files_of_gpu(gpu: str | None, folder: Path | None) -> Path:
    """Where the processes of one user agree on one GPU; an ending is to be added."""
    name = gpu or next(iter(visible_gpus()), "0")
    return (folder or Path(tempfile.gettempdir())) / f"tilesmith-{os.getuid()}-gpu-{name.replace('/', '-')}"


class _PromptThreads:
    """While anybody in this process holds the GPU, its threads hand over ten times as often as usual.

    With Python's usual 5 ms, every answer of a child waits so long for each thread that computes, and the GPU with
    it: 5 ms an answer beside one such thread, 0.5 ms so.
    """

    def __init__(self) -> None:
        self._lock, self._holders, self._usual_s = threading.Lock(), 0, sys.getswitchinterval()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        with self._lock:
            if not self._holders:
                self._usual_s = sys.getswitchinterval()
                sys.setswitchinterval(min(_PROMPT_S, self._usual_s))
            self._holders += 1
        try:
            yield
        finally:
            with self._lock:
                self._holders -= 1
                if not self._holders:
                    sys.setswitchinterval(self._usual_s)


_PROMPT_THREADS = _PromptThreads()


class GpuLock:
    """A reader-writer lock on two files, for one GPU; without a name, for the first that programs see.

    Whoever waits to time holds the turnstile, together with others who do, so that nobody comes in between and the
    GPU is emptied once for all of them.
    """

    def __init__(self, folder: Path | None = None, gpu: str | None = None) -> None:
        files = files_of_gpu(gpu, folder)
        self._turnstile, self._main = files.with_suffix(".turnstile"), files.with_suffix(".lock")

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        with self._held(self._turnstile, fcntl.LOCK_EX):
            main = self._open(self._main, fcntl.LOCK_SH)
        try:
            with _PROMPT_THREADS.held():
                yield
        finally:
            os.close(main)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        waiting = self._held(self._turnstile, fcntl.LOCK_SH)
        with waiting, self._held(self._main, fcntl.LOCK_EX), _PROMPT_THREADS.held():
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
