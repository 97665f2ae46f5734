"""A seccomp filter, written by hand because libseccomp may be missing: refuses what no kernel file needs."""

from __future__ import annotations

import ctypes
import errno
import platform
import socket
import struct
from dataclasses import dataclass

from tilesmith.process.sandbox import libc, syscalls
from tilesmith.process.sandbox.namespaces import (
    CLONE_NEWCGROUP,
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
)

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000
_NEW_NAMESPACES = (
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC) | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET
)
_MODE_FILTER = 2
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCH_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_DENY = _ERRNO | errno.EPERM
_PRETEND = _ERRNO


@dataclass(frozen=True)
class SeccompExceptions:
    """What a child that runs a watching tool may do all the same."""

    tracing: bool = False
    connecting: bool = False
    """Only where a network namespace keeps it from connecting to anybody outside."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def install(leeway: SeccompExceptions) -> bool:
    """Filter every system call from here on, in all descendants too; whether the kernel took it."""
    machine = platform.machine()
    if machine not in _AUDIT_ARCH:
        return False
    instructions = program(machine, leeway)
    loaded = _Program(len(instructions) // 8, instructions)
    return libc.prctl(libc.PR_SET_SECCOMP, _MODE_FILTER, ctypes.c_void_p(ctypes.addressof(loaded)))


def program(machine: str, leeway: SeccompExceptions) -> bytes:
    """Classic BPF. Each block falls through to the next unless it is about the system call at hand."""
    refused = [*syscalls.FORBIDDEN.values()]
    refused += [] if leeway.tracing else [*syscalls.LOOKS_INTO_PROCESSES.values()]
    answers = dict.fromkeys(refused, _DENY) | {syscalls.CLONE3: _ERRNO | errno.ENOSYS}
    if not leeway.tracing:
        answers |= dict.fromkeys(syscalls.CHANGES_MODES.values(), _PRETEND)
    if not leeway.connecting:
        answers[syscalls.CONNECT] = _ERRNO | errno.ECONNREFUSED
    code = _same_machine(machine)
    for numbers, answer in answers.items():
        code += _always(getattr(numbers, machine), answer)
    code += _if_first_argument(getattr(syscalls.CLONE, machine), [(_IF_ANY_BIT, _NEW_NAMESPACES)], _DENY, _ALLOW)
    own = [(_IF_EQUAL, 0)]
    code += _if_first_argument(getattr(syscalls.PRLIMIT64, machine), own, _ALLOW, _DENY)
    if not leeway.connecting:
        local = [(_IF_EQUAL, int(socket.AF_UNIX)), (_IF_EQUAL, int(socket.AF_NETLINK))]
        code += _if_first_argument(getattr(syscalls.SOCKET, machine), local, _ALLOW, _DENY)
    return code + _step(_RETURN, _ALLOW)


def _same_machine(machine: str) -> bytes:
    """The numbers below mean something else to a 32-bit or x32 caller: refuse those altogether."""
    code = _step(_LOAD, _ARCH_AT)
    code += _step(_IF_EQUAL, _AUDIT_ARCH[machine], then=1) + _step(_RETURN, _DENY)
    code += _step(_LOAD, _NUMBER_AT)
    if machine == "x86_64":
        code += _step(_IF_AT_LEAST, _X32_BIT, otherwise=1) + _step(_RETURN, _DENY)
    return code


def _always(number: int | None, answer: int) -> bytes:
    if number is None:
        return b""
    return _step(_IF_EQUAL, number, otherwise=1) + _step(_RETURN, answer)


def _if_first_argument(number: int, tests: list[tuple[int, int]], matches: int, differs: int) -> bytes:
    """One answer where any test of the first argument holds, the other where none does."""
    block = _step(_LOAD, _FIRST_ARGUMENT_AT)
    for position, (test, value) in enumerate(tests):
        block += _step(test, value, then=len(tests) - position)
    block += _step(_RETURN, differs) + _step(_RETURN, matches)
    return _step(_IF_EQUAL, number, otherwise=len(block) // 8) + block


def _step(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)
