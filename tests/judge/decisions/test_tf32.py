"""Where PyTorch works in TF32, and what a kernel that fails by it is told."""

from __future__ import annotations

import pytest

from tilesmith.judge.decisions.tf32 import default_factor, tf32_advice
from tilesmith.records import Finding, Severity, TaskProfile, Verdict

IMPLICIT = Finding("tf32-implicit", Severity.WARNING, 12, "tl.dot works in TF32")


@pytest.mark.parametrize(
    ("op", "precision", "dtype", "factor"),
    [
        ("aten.convolution", "default", "float32", 4.0),
        ("aten.cudnn_convolution", "default", "float32", 4.0),
        ("aten.gru", "default", "float32", 4.0),
        ("aten.addmm", "default", "float32", 2.0),
        ("aten.addmm", "tf32", "float32", 4.0),
        ("aten.convolution", "ieee", "float32", 2.0),
        ("aten.convolution", "default", "bfloat16", 2.0),
        ("aten.relu", "tf32", "float32", 2.0),
    ],
)
def test_more_is_allowed_where_pytorch_itself_works_in_tf32(
    op: str, precision: str, dtype: str, factor: float
) -> None:
    assert default_factor(TaskProfile({op: 1}, dtype=dtype), precision) == factor


def test_the_ways_out_are_named() -> None:
    product = TaskProfile({"aten.mm": 1}, dtype="float32")
    advice = tf32_advice(Verdict.INACCURATE, [IMPLICIT], product, "default")
    for words in ("TF32", "line 12", "ieee", "tf32x3", "round", "--precision tf32"):
        assert words in advice
    convolution = TaskProfile({"aten.convolution": 1}, dtype="float32")
    assert "--precision" not in tf32_advice(Verdict.INACCURATE, [IMPLICIT], convolution, "default")


@pytest.mark.parametrize(("verdict", "findings"), [(Verdict.WRONG_VALUES, [IMPLICIT]), (Verdict.INACCURATE, [])])
def test_other_failures_are_not_blamed_on_it(verdict: Verdict, findings: list[Finding]) -> None:
    assert tf32_advice(verdict, findings, TaskProfile({"aten.mm": 1}), "default") == ""
