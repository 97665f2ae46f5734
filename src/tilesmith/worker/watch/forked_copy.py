"""Work in a copy of this process: nothing it leaves behind is seen again, and it speaks to the original alone."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from tilesmith.process.plain_json import from_text, to_text
from tilesmith.process.protocol.codec import Malformed, decode, encode
from tilesmith.records import Verdict
from tilesmith.worker.watch.cheating_detected import CheatingDetected, UnsupportedCode

T = TypeVar("T")
_LIMIT_S = 20.0
_FORGED = "a copy of the candidate's process answered in place of the judge's code"
_to_original: int | None = None
"""In a copy: the pipe through which it speaks."""


@dataclass(frozen=True)
class _LastMessage:
    """All that a copy says; all fields are null when it did not come to its end."""

    result: Any = None
    cheating: str | None = None
    verdict: Verdict | None = None


def run_in_fork(kind: type[T], work: Callable[[], T]) -> T | None:
    """What `work` returns in a copy of this process, a record of type `kind`; None when the copy came to no end.

    Raises CheatingDetected where the copy did.
    """
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        _work_and_exit(work, write_end)
    os.close(write_end)
    try:
        message = _received(read_end, time.monotonic() + _LIMIT_S)
    finally:
        os.close(read_end)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    unsupported = message.verdict is Verdict.UNSUPPORTED
    if message.cheating is not None:
        raise UnsupportedCode(message.cheating) if unsupported else CheatingDetected(message.cheating)
    try:
        return None if message.result is None else decode(kind, message.result)
    except Malformed:
        raise CheatingDetected(_FORGED) from None


def is_copy() -> bool:
    return _to_original is not None


def report_cheating(detected: CheatingDetected) -> NoReturn:
    """The last words of a copy in which cheating was detected."""
    _say_and_exit(_LastMessage(None, str(detected), detected.verdict))


def _work_and_exit(work: Callable[[], Any], write_end: int) -> NoReturn:
    global _to_original
    _to_original = write_end
    message = _LastMessage()
    try:
        message = _LastMessage(result=encode(work()))
    except CheatingDetected as detected:
        message = _LastMessage(None, str(detected), detected.verdict)
    except BaseException:  # the copy ends here, whatever happened in it
        pass
    _say_and_exit(message)


def _say_and_exit(message: _LastMessage) -> NoReturn:
    assert _to_original is not None
    with contextlib.suppress(BaseException):
        remaining = to_text(encode(message)).encode()
        while remaining:
            remaining = remaining[os.write(_to_original, remaining) :]
    os._exit(0)


def _received(read_end: int, deadline: float) -> _LastMessage:
    parts: list[bytes] = []
    while select.select([read_end], [], [], max(0.0, deadline - time.monotonic()))[0]:
        part = os.read(read_end, 1 << 16)
        if not part:
            break
        parts.append(part)
    if not parts:
        return _LastMessage()
    try:
        return decode(_LastMessage, from_text(b"".join(parts).decode()))
    except (ValueError, RecursionError, Malformed):
        return _LastMessage(None, _FORGED, Verdict.CHEATING)
