"""The parent's side of its children: start a fork server, ask it for children, talk to them, end them.

Nothing here imports torch. A child that misbehaves shows up as `ChildGone`; what that means for a verdict is for
the caller to say, because the reference's death and the candidate's death mean different things.
"""

from __future__ import annotations

import array
import contextlib
import json
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tilesmith.errors import MachineError
from tilesmith.process import folders
from tilesmith.process.channel import BadFrame, Channel, ChannelClosed, ChannelTimeout
from tilesmith.process.fork_server_process import ForkServerProcess
from tilesmith.process.protocol.codec import (
    Malformed,
    R,
    Request,
    RequestFailed,
    RequestFailure,
    decode,
    encode,
    reply_type,
)
from tilesmith.process.protocol.machine import ChildEnded, ChildStarted, SpawnChild, WarmCache
from tilesmith.process.sandbox import NO_GRANTS, Grants, Limits

_START_S = 180.0
_ENDING_S = 10.0
_HANG_UP_S = 1.0


class ChildGone(Exception):
    """A child ended before it answered. `how` is timeout, memory, processes, disk, exit:N, signal:N or garbled."""

    def __init__(self, how: str, log: str) -> None:
        super().__init__(how)
        self.how, self.log = how, log


class Child:
    """One confined process with one task. Requests and replies alternate."""

    def __init__(self, channel: Channel, control: Channel, folder: Path, outbox: Path) -> None:
        self._channel, self._control = channel, control
        self.folder, self.outbox = folder, outbox
        self._gone: ChildGone | None = None
        started = self._hear(ChildStarted, _START_S)
        if started is None:
            raise MachineError("a worker process could not be started: too many processes, or too little memory")
        self.walls = started.walls

    def ask(self, request: Request[R], timeout_s: float) -> R:
        """The reply. Raises RequestFailed where the child says why there is none, Malformed where it is not one of
        ours, and ChildGone when the child ended; a child that is gone stays gone."""
        reply = self._reply(request, timeout_s)
        if "failure" in reply:
            raise RequestFailed(decode(RequestFailure, reply["failure"]))
        return decode(reply_type(type(request)), reply.get("reply"))

    def _reply(self, request: Request[Any], timeout_s: float) -> dict[str, Any]:
        if self._gone:
            raise self._gone
        try:
            return self._channel.ask({"request": type(request).__name__, "fields": encode(request)}, timeout_s)
        except ChannelTimeout:
            self._gone = self._end("timeout")
        except BadFrame:
            self._gone = self._end("garbled")
        except ChannelClosed:
            self._gone = self._end(None)
        raise self._gone

    def kill(self) -> None:
        """Stop it while another thread waits for its answer; that thread sees it gone."""
        with contextlib.suppress(ChannelClosed):
            self._control.send({"kill": True})

    def end(self) -> None:
        """Stop it with all it started; what it wrote stays until it is closed."""
        if not self._gone:
            self._gone = self._end("closed")

    def close(self) -> None:
        self.end()
        for folder in (self.folder, self.outbox):
            folders.remove(folder)

    def _end(self, how: str | None) -> ChildGone:
        if how is not None:
            self.kill()
        report = self._hear(ChildEnded, _ENDING_S if how else _HANG_UP_S)
        if report is None and how is None:  # it closed its end and lives on
            self.kill()
            report = self._hear(ChildEnded)
        self._channel.close()
        self._control.close()
        ended = report or ChildEnded("signal:9", "")
        return ChildGone(how or ended.ending, ended.log)

    def _hear(self, kind: type[R], within_s: float = _ENDING_S) -> R | None:
        """What the supervisor says next."""
        try:
            return decode(kind, self._control.receive(within_s))
        except (ChannelClosed, ChannelTimeout, BadFrame, Malformed):
            return None


Spawn = Callable[[str, str], Child]
"""(flavor, role) to a fresh child."""


def start_fork_servers(
    flavors: Sequence[str], scratch: Path, exchange: Path | None = None, gpu: str | None = None
) -> dict[str, ForkServerClient]:
    """Warm fork servers: `interpret` runs kernels on the CPU, `native` compiles and uses GPUs.

    `gpu` is the one that their children see, as CUDA_VISIBLE_DEVICES names it; null leaves them all."""
    exchange = exchange or scratch
    pairs = {flavor: socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for flavor in flavors}
    process = ForkServerProcess({flavor: theirs for flavor, (_, theirs) in pairs.items()}, scratch, exchange, gpu)
    return {flavor: ForkServerClient(ours, process, scratch, exchange) for flavor, (ours, _) in pairs.items()}


class ForkServerClient:
    """Where one fork server is asked for children."""

    def __init__(self, ours: socket.socket, process: ForkServerProcess, scratch: Path, exchange: Path) -> None:
        self._scratch, self._exchange = scratch, exchange
        self._stubs = scratch / "triton-stubs"
        self._lock = threading.Lock()
        self._ready = False
        self._socket = ours
        self._process = process

    def spawn(self, role: str, limits: Limits, grants: Grants = NO_GRANTS) -> Child:
        """A fresh child in a folder of its own, with another one for the tensors it sends.

        Unless its role is trusted, it can use no other files than these, the system's and what is granted.
        """
        outbox = Path(tempfile.mkdtemp(prefix=f"{role}-", dir=self._exchange))
        folder = Path(tempfile.mkdtemp(prefix=f"{role}-", dir=self._scratch))
        here, there = socket.socketpair()
        control, far_control = socket.socketpair()
        variables = {"HOME": str(folder), "TMPDIR": str(folder), "TRITON_CACHE_DIR": str(folder / "triton")}
        if self._stubs.exists():
            shutil.copytree(self._stubs, folder / "triton")
        writable = (str(folder), str(outbox), *grants.writable)
        request = SpawnChild(role, limits, str(folder), variables, grants.readable, grants.listable, writable)
        fds = array.array("i", [there.fileno(), far_control.fileno()])
        with self._lock:
            self._await_ready()
            try:
                self._socket.sendmsg(
                    [json.dumps(encode(request)).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)]
                )
            except OSError:
                raise MachineError(self._process.obituary()) from None
        there.close()
        far_control.close()
        return Child(Channel(here), Channel(control), folder, outbox)

    def build_stubs(self, limits: Limits) -> None:
        """What Triton compiles once per cache before its first launch: built by trusted code, copied to all."""
        child = self.spawn("probe", limits)
        try:
            child.ask(WarmCache(), _START_S)
            cache = child.folder / "triton"
            if cache.exists():
                shutil.copytree(cache, self._stubs)
        except (ChildGone, RequestFailed, Malformed) as failed:
            raise MachineError(f"the GPU cannot be used ({failed}): run `tilesmith doctor`") from None
        finally:
            child.close()

    def close(self) -> None:
        self._socket.close()
        self._process.leave(self._ready)

    def _await_ready(self) -> None:
        if self._ready:
            return
        self._socket.settimeout(_START_S)
        with contextlib.suppress(TimeoutError):
            self._ready = self._socket.recv(16) == b"ready"
        self._socket.settimeout(None)
        if not self._ready:
            raise MachineError(self._process.obituary())
