"""One supervisor per child: it starts the child inside its walls, watches it, and leaves nothing behind.

The supervisor never runs candidate code. It hears from the parent on a control socket; when that closes,
because the parent asked or because the parent died, the whole family is killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable

from tilesmith.process import sandbox
from tilesmith.process.channel import Channel, ChannelClosed
from tilesmith.process.protocol.codec import encode
from tilesmith.process.protocol.machine import ChildEnded, ChildStarted
from tilesmith.process.sandbox import disk

_PATROL_S = 0.1
_TRUSTED_PATROL_S = 0.5
"""Each patrol reads all of /proc, and a judge keeps many references that do nothing."""
_DISK_PATROL_S = 0.5
_LOG_TAIL_BYTES = 16_384


def supervise(
    control: socket.socket,
    private: socket.socket,
    limits: sandbox.Limits,
    work: Callable[[], None],
    grants: sandbox.Grants | None = None,
) -> None:
    """Run `work` in a fresh, confined process; report its start, its end and the tail of its output.

    `private` is the child's own socket: we let go of it, so that the parent sees it close when the child ends.
    Which walls stand is for the child to find out; it says so before its work begins. Without `grants` it is
    trusted with files and system calls.
    """
    sandbox.adopt_orphans()
    namespaces = sandbox.isolate()
    log_read, log_write = os.pipe()
    walls_read, walls_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(log_read)
        os.close(walls_read)
        control.close()
        _become_child(log_write, walls_write, lambda: sandbox.apply_sandbox(limits, grants, namespaces), work)
    os.close(log_write)
    os.close(walls_write)
    private.close()
    channel = Channel(control)
    with contextlib.suppress(ChannelClosed):
        channel.send(encode(ChildStarted(_reported_walls(walls_read))))
    log = _Tail(log_read)
    ending = _watch(pid, control, log, limits, grants)
    _end_family(pid)
    with contextlib.suppress(ChannelClosed):
        channel.send(encode(ChildEnded(ending, log.text())))


def _become_child(
    log_fd: int, walls_fd: int, apply_sandbox: Callable[[], tuple[str, ...]], work: Callable[[], None]
) -> None:
    status = 1
    try:
        os.setsid()
        sandbox.die_with_parent()
        with open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(log_fd, 1)
        os.dup2(log_fd, 2)
        os.close(log_fd)
        with open(walls_fd, "w") as report:
            json.dump(apply_sandbox(), report)
        work()
        status = 0
    except Exception:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _reported_walls(fd: int) -> tuple[str, ...]:
    """None where the child died on the way: how it did shows in its log and its end."""
    with open(fd) as report:
        text = report.read()
    try:
        return tuple(str(wall) for wall in json.loads(text))
    except ValueError:
        return ()


def _watch(
    pid: int, control: socket.socket, log: _Tail, limits: sandbox.Limits, grants: sandbox.Grants | None
) -> str:
    """Wait for the child to end, and say how: exit:N, signal:N, killed, memory, processes or disk."""
    patrol_s, folders = (_PATROL_S, grants.writable) if grants else (_TRUSTED_PATROL_S, ())
    ended = os.pidfd_open(pid)
    inherited = _held_bytes(os.getpid())
    disk_patrol = time.monotonic() + _DISK_PATROL_S
    try:
        while True:
            sources: list[int] = [ended, control.fileno(), *log.sources()]
            ready = select.select(sources, [], [], patrol_s)[0]
            log.read_if(ready)
            if ended in ready:
                _, status, used = os.wait4(pid, 0)
                code = os.waitstatus_to_exitcode(status)
                if code == -signal.SIGKILL and used.ru_utime + used.ru_stime > limits.cpu_s - 1:
                    code = -signal.SIGXCPU  # the kernel's hard limit: soft and hard are the same
                return f"exit:{code}" if code >= 0 else f"signal:{-code}"
            if control.fileno() in ready:
                return "killed"
            family = descendants(os.getpid())
            if len(family) > limits.processes:
                return "processes"
            if sum(max(0, _held_bytes(one) - inherited) for one in family) > limits.resident_bytes:
                return "memory"
            if folders and time.monotonic() >= disk_patrol:
                if disk.exceeds(folders, family, limits.total_file_bytes):
                    return "disk"
                disk_patrol = time.monotonic() + _DISK_PATROL_S
    finally:
        os.close(ended)


def _end_family(pid: int) -> None:
    """Kill the child's session and whatever else descends from us, until nothing is left (or 5 s passed)."""
    deadline = time.monotonic() + 5
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    while time.monotonic() < deadline:
        for process in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.005)


def descendants(root: int) -> list[int]:
    """Every live process below `root`, by the parent links in /proc."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (parent := _parent_of(int(entry))) is not None:
            children.setdefault(parent, []).append(int(entry))
    found: list[int] = []
    pending = [root]
    while pending:
        below = children.get(pending.pop(), [])
        found += below
        pending += below
    return found


def _parent_of(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None


def _held_bytes(pid: int) -> int:
    """Anonymous and shared memory; pages of files do not count, the kernel can drop them."""
    try:
        with open(f"/proc/{pid}/status") as file:
            held = [line.split()[1] for line in file if line.startswith(("RssAnon:", "RssShmem:"))]
    except (OSError, ValueError, IndexError):
        return 0
    return sum(map(int, held)) * 1024


class _Tail:
    """The last few kilobytes a child printed; the rest is read and forgotten, so no one blocks on a full pipe."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd: int | None = fd
        self._bytes = b""

    def sources(self) -> list[int]:
        return [] if self._fd is None else [self._fd]

    def read_if(self, ready: list[int]) -> None:
        if self._fd is None or self._fd not in ready:
            return
        part = os.read(self._fd, 1 << 16)
        if not part:
            os.close(self._fd)
            self._fd = None
        self._bytes = (self._bytes + part)[-_LOG_TAIL_BYTES:]

    def text(self) -> str:
        with contextlib.suppress(BlockingIOError):
            while self._fd is not None:
                self.read_if([self._fd])
        return self._bytes.decode(errors="replace")
