"""What stands between a candidate and the machine.

Covers: a crash, a hang, a memory or disk hog, a fork bomb, noise on stdout, an early exit and processes left
behind all stay inside the child and end with it. Where the kernel allows it the child has no network (not
even loopback), sees only its own processes and cannot signal or trace anything else.

Does not cover: the child runs as the same user and sees the same files, so a hostile candidate can still
read and change what that user can. It shares the GPU with other processes. Run code from strangers in a
container or a throwaway machine.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import struct
from dataclasses import dataclass

_CLONE_NEWNS = 0x00020000
_CLONE_NEWIPC = 0x08000000
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWPID = 0x20000000
_CLONE_NEWNET = 0x40000000
_MS_PRIVATE_REC = 0x40000 | 0x4000
_MS_NOSUID_NODEV_NOEXEC = 0x2 | 0x4 | 0x8
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION_3 = 0x20080522
_FILE_CAPABILITIES = 0b1111
"""CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER."""

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Limits:
    """What one child may use. `address_bytes` is null where CUDA must reserve address space freely."""

    address_bytes: int | None
    resident_bytes: int
    cpu_s: int
    file_bytes: int
    processes: int


def die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def adopt_orphans() -> None:
    """Grandchildren that lose their parent become ours, so that none is left behind."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def isolate() -> tuple[str, ...]:
    """Move the next fork of this process into namespaces of its own; says which walls stand.

    Root needs no user namespace; anyone else gets one if the system allows it.
    """
    uid, gid = os.getuid(), os.getgid()
    walls = _CLONE_NEWNET | _CLONE_NEWPID | _CLONE_NEWIPC
    if _unshare(walls):
        return ("network", "processes", "ipc")
    if _unshare(_CLONE_NEWUSER | walls):
        _map_user(uid, gid)
        return ("network", "processes", "ipc", "user")
    return ("network",) if _unshare(_CLONE_NEWUSER | _CLONE_NEWNET) else ()


def hide_other_processes() -> None:
    """Inside a fresh PID namespace, show its own /proc only. Best effort: some containers forbid it.

    In mounts of its own, or the supervisor would lose sight of the child it watches.
    """
    if not _unshare(_CLONE_NEWNS):
        return
    _libc.mount(b"none", b"/", None, _MS_PRIVATE_REC, None)
    _libc.mount(b"proc", b"/proc", b"proc", _MS_NOSUID_NODEV_NOEXEC, None)


def confine(limits: Limits) -> None:
    """Limits on the current process and all it starts; none of them can be lifted again."""
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _keep_file_capabilities_only()
    if limits.address_bytes is not None:
        _limit(resource.RLIMIT_AS, limits.address_bytes)
    _limit(resource.RLIMIT_CPU, limits.cpu_s)
    _limit(resource.RLIMIT_FSIZE, limits.file_bytes)
    _limit(resource.RLIMIT_CORE, 0)


def _keep_file_capabilities_only() -> None:
    """Root, or the owner of a user namespace, could unmount the walls; without CAP_SYS_ADMIN it cannot."""
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    kept = struct.pack("=6I", _FILE_CAPABILITIES, _FILE_CAPABILITIES, 0, 0, 0, 0)
    current = ctypes.create_string_buffer(24)
    if _libc.capget(header, current) == 0:
        allowed = struct.unpack("=6I", current.raw)[1]
        kept = struct.pack("=6I", *([_FILE_CAPABILITIES & allowed] * 2), 0, 0, 0, 0)
    _libc.capset(header, kept)


def _limit(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(which, (value, value))


def _unshare(flags: int) -> bool:
    return int(_libc.unshare(flags)) == 0


def _map_user(uid: int, gid: int) -> None:
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with contextlib.suppress(OSError), open(f"/proc/self/{name}", "w") as file:
            file.write(text)
