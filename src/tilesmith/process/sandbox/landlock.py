"""Landlock: which files a process and all it starts may read and write, for good.

The kernel tells which version it speaks; what that version does not know is left out. The first version is not
used at all, because it forbids moving a file between two folders, which Triton's cache does. Before the third,
files could still be emptied, so the wall is put up but not claimed.

Device files keep their ioctls: without them there would be no GPU.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator

from tilesmith.process.sandbox import libc
from tilesmith.process.sandbox.grants import READABLE_DEVICES, Grants, devices, system_paths

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_CHAR, _MAKE_DIR = 1 << 4, 1 << 5, 1 << 6, 1 << 7
_MAKE_REG, _MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK = 1 << 8, 1 << 9, 1 << 10, 1 << 11
_MAKE_SYM, _REFER, _TRUNCATE = 1 << 12, 1 << 13, 1 << 14

_READ = _EXECUTE | _READ_FILE | _READ_DIR
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_OWN = (
    (_READ | _WRITE_FILE | _TRUNCATE | _REFER)
    | (_REMOVE_DIR | _REMOVE_FILE)
    | (_MAKE_DIR | _MAKE_REG | _MAKE_SOCK | _MAKE_FIFO | _MAKE_SYM)
)
_TCP = 0b11
"""Bind and connect."""
_SCOPES = 0b11
"""Abstract sockets and signals reach nobody outside."""
_LEAST_USABLE, _LEAST_WHOLE = 2, 3
_OWN_THREADS = "/proc/self/task"
"""CUDA names its threads there, and does not start where it cannot."""


def version() -> int:
    """What this kernel speaks; zero where there is no Landlock."""
    return max(0, libc.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION))


def apply_landlock(grants: Grants) -> bool:
    """From here on only what is granted; whether that holds without a gap."""
    spoken = version()
    if spoken < _LEAST_USABLE:
        return False
    handled = _handled(spoken)
    attributes = _attributes(spoken, handled)
    ruleset = libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    if ruleset < 0:
        return False
    try:
        for path, access in _rules(grants):
            _allow(ruleset, path, access & handled)
        return libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0 and spoken >= _LEAST_WHOLE
    finally:
        os.close(ruleset)


def _handled(spoken: int) -> int:
    everything = _OWN | _MAKE_CHAR | _MAKE_BLOCK
    return everything if spoken >= 3 else everything & ~_TRUNCATE


def _attributes(spoken: int, handled: int) -> bytes:
    """A kernel takes the fields it knows: files, from version 4 the network, from version 6 scopes."""
    known = 8 if spoken < 4 else 16 if spoken < 6 else 24
    return struct.pack("=QQQ", handled, _TCP, _SCOPES)[:known]


def _rules(grants: Grants) -> Iterator[tuple[str, int]]:
    for path in (*system_paths(), *grants.readable):
        yield path, _READ
    for path in READABLE_DEVICES:
        yield path, _READ_FILE
    for path in grants.listable:
        yield path, _READ_DIR
    for path in devices():
        yield path, _READ_FILE | _READ_DIR | _WRITE_FILE | _TRUNCATE
    yield _OWN_THREADS, _READ | _WRITE_FILE | _TRUNCATE
    for path in grants.writable:
        yield path, _OWN


def _allow(ruleset: int, path: str, access: int) -> None:
    """A path that is not there needs no rule; a rule the kernel refuses leaves the fence the stricter."""
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            access &= _ON_FILES
        libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", access, place), 0)
    finally:
        os.close(place)
