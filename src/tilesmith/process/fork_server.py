"""A process that has imported torch and triton and does nothing but fork.

Importing both takes seconds, forking milliseconds. The server stays single-threaded and never touches CUDA,
so its children start clean. It serves one judge: when the judge's socket closes, even because the judge was
killed, it removes the judge's temporary folders and exits. Where two flavors are asked for, the first forks the
second between torch and triton, which is imported either to interpret or to compile.

    python -m tilesmith.process.fork_server FLAVOR=FD[,FLAVOR=FD] [FOLDER ...]
"""

from __future__ import annotations

import array
import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tilesmith.process import folders, sandbox
from tilesmith.process.channel import Channel
from tilesmith.process.protocol.codec import decode
from tilesmith.process.protocol.machine import SpawnChild
from tilesmith.process.supervisor import supervise

ROLES = {
    "reference": "tilesmith.worker.roles.reference",
    "candidate": "tilesmith.worker.roles.candidate",
    "compiler": "tilesmith.worker.roles.compiler",
    "probe": "tilesmith.worker.roles.probe",
    "sanitizer": "tilesmith.worker.roles.sanitizer",
}
"""Role name to the module whose `serve(channel)` is the child's whole life; any other role names its own module."""
TRUSTED_ROLES = ("reference", "probe")
"""They run the user's own task or our own code: limited, but not kept from files."""
TRACING_ROLES = ("sanitizer",)
"""They start a tool that watches the process it is pointed at."""


def main() -> None:
    listeners = [(flavor, int(fd)) for flavor, fd in (one.split("=") for one in sys.argv[1].split(","))]
    gc.disable()  # there is next to no garbage in imports
    _preload_torch()
    listener, forked = _become_one_of(listeners)
    _preload_triton()
    gc.freeze()  # or every child would search all of torch for garbage, and copy its pages by doing so
    gc.enable()
    with contextlib.suppress(ConnectionError):  # the judge was gone before we were ready
        _serve(listener)
    for folder in sys.argv[2:]:
        folders.remove(Path(folder))
    with contextlib.suppress(ChildProcessError):
        for pid in forked:
            os.waitpid(pid, 0)


def _become_one_of(listeners: list[tuple[str, int]]) -> tuple[socket.socket, list[int]]:
    """Where this process listens from now on, and the servers that it forked for the other flavors."""
    (mine, fd), *others = listeners
    forked: list[int] = []
    for flavor, other in others:
        pid = os.fork()
        if pid == 0:
            os.close(fd)
            mine, fd, forked = flavor, other, []
            break
        os.close(other)
        forked.append(pid)
    if mine == "interpret":
        os.environ["TRITON_INTERPRET"] = "1"
    return socket.socket(fileno=fd), forked


def _serve(listener: socket.socket) -> None:
    """Fork for every request, until the judge is gone."""
    listener.send(b"ready")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        data, ancillary, _, _ = listener.recvmsg(1 << 16, socket.CMSG_SPACE(2 * 4))
        if not data:
            return
        channel_fd, control_fd = _received_fds(ancillary)
        with contextlib.suppress(OSError):  # no room for another process: its judge sees the sockets close
            if os.fork() == 0:
                listener.close()
                _serve_one(decode(SpawnChild, json.loads(data)), channel_fd, control_fd)
        os.close(channel_fd)
        os.close(control_fd)


def _preload_torch() -> None:
    for name in ("numpy", "torch"):
        importlib.import_module(name)
    importlib.import_module("torch").set_num_threads(1)
    importlib.import_module("tilesmith.worker.compat.torch_names").import_symbolic_shapes()
    sandbox.system_paths()  # remembered for every child


def _preload_triton() -> None:
    for name in ("triton", "triton.language", *ROLES.values()):
        importlib.import_module(name)
    importlib.import_module("tilesmith.worker.task.trial").warm_up()  # its imports patch torch, too
    if os.environ.get("TRITON_INTERPRET") == "1":
        importlib.import_module("tilesmith.worker.engines.interpreter.interpreter").install()
    warm_triton = importlib.import_module("tilesmith.worker.compat.triton_names").warm_up
    warm_triton(compiles=os.environ.get("TRITON_INTERPRET") != "1")
    importlib.import_module("tilesmith.worker.watch.name_snapshot").snapshot_of_process()


def _serve_one(request: SpawnChild, channel_fd: int, control_fd: int) -> None:
    """Become the supervisor of one child; never returns."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    status = 1
    try:
        sandbox.die_with_parent()
        channel_socket = socket.socket(fileno=channel_fd)
        control = socket.socket(fileno=control_fd)
        supervise(control, channel_socket, request.limits, _work(request, channel_socket), _grants(request))
        status = 0
    finally:
        os._exit(status)


def _grants(request: SpawnChild) -> sandbox.Grants | None:
    """What a child that is not trusted may use: a role nobody thought of is not."""
    if request.role in TRUSTED_ROLES:
        return None
    tracing = request.role in TRACING_ROLES
    return sandbox.Grants(request.readable, request.listable, request.writable, tracing)


def _work(request: SpawnChild, channel_socket: socket.socket) -> Callable[[], None]:
    def work() -> None:
        os.chdir(request.folder)
        os.environ.update(request.environment)
        tempfile.tempdir = None  # remembered since the imports
        serve = importlib.import_module(ROLES.get(request.role, request.role)).serve
        serve(Channel(channel_socket))

    return work


def _received_fds(ancillary: list[tuple[int, int, bytes]]) -> tuple[int, int]:
    fds = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    return fds[0], fds[1]


if __name__ == "__main__":
    main()
