"""Performance as `op check` tells it: shape by shape, and whether the target is met. Times are made up here."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_up_judge import MadeUpJudge, timed
from rich.console import Console
from sample_operators import BIAS_ADD

from tilesmith.cli.op.check import show_check
from tilesmith.operators.checking import AccuracyResult, OperatorCheck, PerformanceResult, measure
from tilesmith.records import Verdict

TEXTS = {
    "baseline": "import torch\ndef bias_add(x, bias): return x + bias\n",
    "triton": "import torch\ndef bias_add(x, bias): return launch(x, bias)\n",
}


def measured(speedups: list[float], target: float = 1.0) -> PerformanceResult:
    judge = MadeUpJudge([timed(one) for one in speedups])
    operator = replace(BIAS_ADD, dtypes=("float32", "float16"), target=target)
    return measure(operator, TEXTS, judge, lambda _: None, at_once=1)  # type: ignore[arg-type]


def check_of(performance: PerformanceResult | None, verdict: str = "passed") -> OperatorCheck:
    return OperatorCheck("bias_add", "", AccuracyResult(verdict, "", (), None, (), ()), performance)


def test_the_target_is_for_the_geometric_mean() -> None:
    met = measured([2.0, 0.5], target=1.0)
    assert met.geometric_mean == pytest.approx(1.0)
    assert met.target_met
    assert met.reason == "geometric mean 1.000, target 1: met"
    assert check_of(met).passed
    missed = measured([2.0, 0.4], target=1.0)
    assert missed.reason == "geometric mean 0.894, target 1: missed"
    assert not check_of(missed).passed


def test_every_shape_and_dtype_is_told() -> None:
    found = measured([1.5, 0.8])
    assert [(one.dtype, one.sizes, one.speedup) for one in found.calls] == [
        ("float32", "M=4096 N=4096", 1.5),
        ("float16", "M=4096 N=4096", 0.8),
    ]
    first = found.calls[0]
    assert (first.gigabytes_per_s, first.share_of_peak, first.kernel_ms) == (1000.0, 0.5, 1.0)


def test_a_kernel_that_is_wrong_at_its_real_size_misses_every_target() -> None:
    judge = MadeUpJudge([timed(3.0), timed(3.0, Verdict.WRONG_VALUES), timed(3.0)])
    found = measure(BIAS_ADD, TEXTS, judge, lambda _: None, at_once=1)  # type: ignore[arg-type]
    assert found.target_met is False
    assert found.reason == "float16 M=4096 N=4096: wrong_values: a reason"
    assert len(found.calls) == 1


def test_the_judge_is_asked_about_the_real_sizes() -> None:
    judge = MadeUpJudge([timed(1.0)] * 3)
    measure(BIAS_ADD, TEXTS, judge, lambda _: None, at_once=1)  # type: ignore[arg-type]
    assert "judged_inputs(torch.bfloat16, M=4096, N=4096)" in judge.tasks[2]
    assert "manual_seed" not in judge.tasks[2]


def test_nothing_is_measured_without_a_gpu() -> None:
    found = measure(BIAS_ADD, TEXTS, MadeUpJudge([], device="cpu"), lambda _: None)  # type: ignore[arg-type]
    assert found.target_met is None
    assert check_of(found).passed
    assert not check_of(found, "inaccurate").passed


def test_a_hybrid_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    accuracy = AccuracyResult("passed", "", (), None, (), ("not timed: no GPU", "a hybrid: PyTorch computes mm"))
    show_check(OperatorCheck("bias_add", "", accuracy, None), Console())
    assert "             a hybrid: PyTorch computes mm\n" in capsys.readouterr().out
