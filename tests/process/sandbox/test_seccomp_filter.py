"""The system call filter as the kernel would run it, for both machines, whichever this one is."""

from __future__ import annotations

import errno
import struct

import pytest

from tilesmith.process.sandbox.seccomp import SeccompExceptions, program

ALLOW, DENY = 0x7FFF0000, 0x00050000 | errno.EPERM
ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CALLS = {
    "x86_64": {"read": 0, "ptrace": 101, "mount": 165, "socket": 41, "connect": 42, "clone": 56, "chmod": 90},
    "aarch64": {"read": 63, "ptrace": 117, "mount": 40, "socket": 198, "connect": 203, "clone": 220, "chmod": 53},
}
NEW_USER = 0x10000000


def decide(
    machine: str, number: int, argument: int = 0, allowed: SeccompExceptions | None = None, arch: int = 0
) -> int:
    """A machine for classic BPF, as far as the filter uses it."""
    code = program(machine, allowed or SeccompExceptions())
    steps = [struct.unpack_from("=HBBI", code, at) for at in range(0, len(code), 8)]
    words = {0: number, 4: arch or ARCH[machine], 16: argument}
    at = value = 0
    while True:
        kind, then, otherwise, operand = steps[at]
        if kind == 0x06:
            return int(operand)
        if kind == 0x20:
            value, at = words[operand], at + 1
            continue
        holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[kind]
        at += 1 + (then if holds else otherwise)


@pytest.fixture(params=["x86_64", "aarch64"])
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_what_programs_do_all_day_is_allowed(machine: str) -> None:
    calls = CALLS[machine]
    assert decide(machine, calls["read"]) == ALLOW
    assert decide(machine, calls["clone"], 0x00100011) == ALLOW
    assert decide(machine, 10_000) == ALLOW


@pytest.mark.parametrize("name", ["ptrace", "mount"])
def test_what_is_forbidden_is_refused(machine: str, name: str) -> None:
    assert decide(machine, CALLS[machine][name]) == DENY


def test_only_local_sockets_can_be_made(machine: str) -> None:
    verdicts = {family: decide(machine, CALLS[machine]["socket"], family) for family in (1, 2, 10, 16, 17, 38, 40)}
    assert verdicts == dict.fromkeys((1, 16), ALLOW) | dict.fromkeys((2, 10, 17, 38, 40), DENY)


def test_no_socket_is_connected(machine: str) -> None:
    assert decide(machine, CALLS[machine]["connect"]) == 0x00050000 | errno.ECONNREFUSED
    assert decide(machine, CALLS[machine]["connect"], allowed=SeccompExceptions(connecting=True)) == ALLOW


def test_no_new_namespaces(machine: str) -> None:
    assert decide(machine, CALLS[machine]["clone"], NEW_USER | 17) == DENY
    assert decide(machine, 435) == 0x00050000 | errno.ENOSYS


def test_a_change_of_modes_is_only_pretended(machine: str) -> None:
    assert decide(machine, CALLS[machine]["chmod"]) == 0x00050000


def test_a_tracing_tool_may_trace_and_nothing_else_more(machine: str) -> None:
    assert decide(machine, CALLS[machine]["ptrace"], allowed=SeccompExceptions(tracing=True)) == ALLOW
    assert decide(machine, CALLS[machine]["mount"], allowed=SeccompExceptions(tracing=True)) == DENY
    assert decide(machine, CALLS[machine]["connect"], allowed=SeccompExceptions(tracing=True)) != ALLOW


def test_other_ways_into_the_kernel_are_closed(machine: str) -> None:
    assert decide(machine, CALLS[machine]["read"], arch=0x40000003) == DENY
    assert decide("x86_64", 0x40000000) == DENY
