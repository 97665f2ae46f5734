"""What children may use of the machine."""

from __future__ import annotations

import os

from tilesmith.config import CheckConfig
from tilesmith.judge.machine.child_limits import candidate_limits, reference_limits

MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def test_a_candidate_gets_what_the_configuration_says() -> None:
    limits = candidate_limits(CheckConfig(memory_bytes=2**30, timeout_s=10), "cpu")
    assert limits.resident_bytes == 2**30
    assert limits.cpu_s >= 10
    assert limits.processes < 1000


def test_a_candidate_never_gets_the_whole_machine() -> None:
    assert candidate_limits(CheckConfig(memory_bytes=2**60), "cpu").resident_bytes < 0.8 * MACHINE
    assert candidate_limits(CheckConfig(memory_bytes=2**60), "cuda").resident_bytes < 0.8 * MACHINE


def test_address_space_is_limited_only_where_cuda_does_not_reserve_it() -> None:
    on_cpu = candidate_limits(CheckConfig(memory_bytes=2**30), "cpu")
    assert on_cpu.address_bytes is not None
    assert on_cpu.address_bytes > on_cpu.resident_bytes
    assert candidate_limits(CheckConfig(), "cuda").address_bytes is None


def test_the_reference_is_trusted_more_but_not_with_everything() -> None:
    reference, candidate = reference_limits(), candidate_limits(CheckConfig(), "cpu")
    assert candidate.resident_bytes < reference.resident_bytes < MACHINE
    assert reference.cpu_s > candidate.cpu_s
    assert reference.processes > candidate.processes
