"""The process that runs a model which a command names, from the command's side: torch stays out of this one."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tilesmith.errors import MachineError, TaskError
from tilesmith.process.channel import BadFrame, Channel, ChannelClosed
from tilesmith.process.protocol.codec import R, Request, RequestFailure, decode, encode, reply_type


class NamedModel:
    """A conversation with that process; requests and replies alternate."""

    def __init__(self, channel: Channel, process: subprocess.Popen[bytes]) -> None:
        self._channel, self._process = channel, process

    def ask(self, request: Request[R]) -> R:
        """Raises TaskError or MachineError, one line each."""
        try:
            reply = self._channel.ask({"request": type(request).__name__, "fields": encode(request)})
        except (ChannelClosed, BadFrame):
            raise MachineError(
                f"the process that ran the model {self._ending()}: try the model in a program of yours"
            ) from None
        if "failure" in reply:
            failure = decode(RequestFailure, reply["failure"])
            last = (failure.message.strip().splitlines() or ["no message"])[-1]
            raise TaskError(failure.message) if failure.kind == "task" else MachineError(last)
        return decode(reply_type(type(request)), reply["reply"])

    def _ending(self) -> str:
        try:
            code = self._process.wait(1)
        except subprocess.TimeoutExpired:
            return "gave no answer of ours"
        if code == -signal.SIGKILL:
            return "was killed (out of memory?)"
        return f"ended with exit code {code}" if code >= 0 else f"died of {signal.Signals(-code).name}"


@contextmanager
def open_model() -> Iterator[NamedModel]:
    """What the model prints goes to stderr; when the command ends, so does everything that it started."""
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(
        [sys.executable, "-uP", "-m", "tilesmith.model_process", str(theirs.fileno()), str(os.getpid())],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        start_new_session=True,
    )
    theirs.close()
    try:
        yield NamedModel(Channel(ours), process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        ours.close()
