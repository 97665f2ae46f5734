"""Where PyTorch itself works in TF32, and what to tell a kernel that fails by TF32 alone."""

from __future__ import annotations

from collections.abc import Iterable

from tilesmith.records import Finding, TaskProfile, Verdict

USUAL_FACTOR, TF32_FACTOR = 2.0, 4.0
"""How many times PyTorch's own error is allowed. Triton's tensor-core products truncate where cuDNN rounds: where
PyTorch works in TF32, an honest kernel errs about two and a half times as much."""
_BY_DEFAULT = ("conv", "cudnn_conv", "mkldnn_conv", "slow_conv", "gru", "lstm", "rnn")
"""Operators that PyTorch runs in TF32 unless it is told otherwise."""
_WHEN_ALLOWED = ("mm", "addmm", "bmm", "baddbmm", "matmul", "linear", "mv", "addmv", "einsum", "bilinear")
_IMPLICIT = "tf32-implicit"


def works_in_tf32(profile: TaskProfile, precision: str) -> bool:
    """Whether some operator of the task is computed in TF32 by PyTorch, under `--precision`."""
    if precision == "ieee" or profile.dtype not in (None, "float32"):
        return False
    names = {op.removeprefix("aten.").lstrip("_") for op in profile.ops}
    tf32 = _BY_DEFAULT if precision == "default" else (*_BY_DEFAULT, *_WHEN_ALLOWED)
    return any(name.startswith(_BY_DEFAULT) or name.partition(".")[0] in tf32 for name in names)


def default_factor(profile: TaskProfile, precision: str) -> float:
    return TF32_FACTOR if works_in_tf32(profile, precision) else USUAL_FACTOR


def tf32_advice(verdict: Verdict, findings: Iterable[Finding], profile: TaskProfile, precision: str) -> str:
    """For a kernel that is inaccurate and multiplies in TF32 without saying so: the ways out; else nothing."""
    lines = [finding.line for finding in findings if finding.id == _IMPLICIT]
    if verdict is not Verdict.INACCURATE or not lines:
        return ""
    help_wanted = precision == "default" and not works_in_tf32(profile, precision)
    judged_so = "; --precision tf32 judges PyTorch by TF32 too" if help_wanted else ""
    return (
        f"\nits tl.dot (line {lines[0]}) works in TF32, which truncates float32 operands: ask for "
        'input_precision="ieee", split the product ("tf32x3", "bf16x3"), or round the operands to TF32 before it '
        f"(cvt.rna.tf32.f32){judged_so}"
    )
