"""Namespaces: no network, no other processes, no shared memory segments but its own.

Root gets them for the asking; anyone else inside a user namespace, where the system allows that.
"""

from __future__ import annotations

import os
import signal

from tilesmith.process.sandbox import libc

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
_MS_PRIVATE_REC = 0x40000 | 0x4000
_MS_NOSUID_NODEV_NOEXEC = 0x2 | 0x4 | 0x8


def die_with_parent() -> None:
    libc.prctl(libc.PR_SET_PDEATHSIG, int(signal.SIGKILL))


def adopt_orphans() -> None:
    """Grandchildren that lose their parent become ours, so that none is left behind."""
    libc.prctl(libc.PR_SET_CHILD_SUBREAPER, 1)


def isolate() -> tuple[str, ...]:
    """Move the next fork of this process into namespaces of its own; says which of them it got."""
    uid, gid = os.getuid(), os.getgid()
    three = CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC
    if libc.unshare(three):
        return ("network", "processes", "ipc")
    if libc.unshare(CLONE_NEWUSER | three):
        return ("network", "processes", "ipc", *_user_wall(uid, gid))
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET):
        return ("network", *_user_wall(uid, gid))
    return ()


def hide_other_processes() -> bool:
    """Inside a fresh PID namespace, show its own /proc only. Some containers forbid it.

    In mounts of its own, or the supervisor would lose sight of the child it watches.
    """
    return (
        libc.unshare(CLONE_NEWNS)
        and libc.mount(b"none", b"/", None, _MS_PRIVATE_REC)
        and libc.mount(b"proc", b"/proc", b"proc", _MS_NOSUID_NODEV_NOEXEC)
    )


def map_user(uid: int, gid: int) -> bool:
    """Inside a new user namespace, be who one was."""
    try:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    except OSError:
        return False
    return True


def _user_wall(uid: int, gid: int) -> tuple[str, ...]:
    return ("user",) if map_user(uid, gid) else ()
