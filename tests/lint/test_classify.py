from __future__ import annotations

import pytest
from kernel_sources import ATTENTION, BY_TYPE, ELEMENTWISE, GEMM, MAX_POOL, RNN_IN_KERNEL

from tilesmith.lint import lint, read_kernel
from tilesmith.records import Severity


@pytest.mark.parametrize("style", BY_TYPE)
def test_type_follows_structure(style: str) -> None:
    text, kind = BY_TYPE[style]
    assert lint(read_kernel(text)).kernel_type == kind


@pytest.mark.parametrize("style", BY_TYPE)
def test_working_kernels_get_no_error(style: str) -> None:
    findings = lint(read_kernel(BY_TYPE[style][0])).findings
    assert [f for f in findings if f.severity is Severity.ERROR] == []


@pytest.mark.parametrize(
    ("text", "complexity"),
    [(ELEMENTWISE, "low"), (GEMM, "medium"), (ATTENTION, "high"), (RNN_IN_KERNEL, "persistent")],
)
def test_complexity(text: str, complexity: str) -> None:
    assert lint(read_kernel(text)).complexity == complexity


def test_pooling_is_no_convolution() -> None:
    assert lint(read_kernel(MAX_POOL)).kernel_type in ("elementwise", "reduction")
