"""The few system calls Python has no name for, by ctypes: no package of its own, no compiler."""

from __future__ import annotations

import ctypes
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def prctl(option: int, first: Any = 0, second: Any = 0) -> bool:
    """Whether it worked. Arguments are of machine size: a variadic call would pass half of each."""
    wide = [one if isinstance(one, ctypes._SimpleCData) else ctypes.c_ulong(one) for one in (first, second)]
    return int(_libc.prctl(option, *wide, ctypes.c_ulong(0), ctypes.c_ulong(0))) == 0


def syscall(number: int, *arguments: int | bytes | None) -> int:
    """What the kernel returned; negative where it refused."""
    wide = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return int(_libc.syscall(ctypes.c_long(number), *wide))


def unshare(flags: int) -> bool:
    return int(_libc.unshare(flags)) == 0


def mount(source: bytes, target: bytes, kind: bytes | None, flags: int) -> bool:
    return int(_libc.mount(source, target, kind, ctypes.c_ulong(flags), None)) == 0


def capget(header: bytes, data: Any) -> bool:
    return int(_libc.capget(header, data)) == 0


def capset(header: bytes, data: bytes) -> bool:
    return int(_libc.capset(header, data)) == 0
