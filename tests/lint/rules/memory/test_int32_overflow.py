"""int32-overflow: a hint where sizes are unknown, a warning where the task says they are large, else nothing."""

from __future__ import annotations

import pytest

from tilesmith.lint import TaskFacts, read_kernel
from tilesmith.lint.rules.memory.int32_overflow import int32_overflow
from tilesmith.records import Severity

KERNEL = """
import triton
import triton.language as tl
@triton.jit
def f(x, n, stride, B: tl.constexpr):
    row = {row}
    i = tl.arange(0, B)
    tl.store(x + row * {scale} + i, 0.0, mask=i < n)
"""
NARROW = KERNEL.format(row="tl.program_id(0)", scale="stride")


@pytest.mark.parametrize(
    ("largest", "severities"),
    [(None, [Severity.INFO]), (1 << 32, [Severity.WARNING]), (1 << 20, [])],
)
def test_the_sizes_of_the_task_decide(largest: int | None, severities: list[Severity]) -> None:
    source = read_kernel(NARROW, TaskFacts(largest_elements=largest))
    assert [finding.severity for finding in int32_overflow(source)] == severities


@pytest.mark.parametrize(
    ("row", "scale"),
    [("tl.program_id(0).to(tl.int64)", "stride"), ("tl.program_id(0)", "B"), ("tl.program_id(0) // n", "stride")],
)
def test_wide_or_small_offsets_are_fine(row: str, scale: str) -> None:
    assert not list(int32_overflow(read_kernel(KERNEL.format(row=row, scale=scale))))
