"""Reductions over dimensions that are not the last, from the graph to one kernel."""

from __future__ import annotations

from pathlib import Path

import pytest
from playbook_children import compile_exact, find_problems, interpreting
from playbook_judging import assert_clean, judge_written
from playbook_surveys import match_task
from playbook_tasks import IMAGE, WEIGHT, task

from tilesmith.judge import Judge
from tilesmith.lint import lint, read_kernel
from tilesmith.playbook.plan.plan import Plan
from tilesmith.playbook.tuning import find_tuning

MIDDLE = "x = torch.randn(5, 70, 33)"
LONG = "x = torch.randn(3, 1100, 40)"
NORM = (
    "m = x.mean({0}, keepdim=True)\n"
    "v = ((x - m) ** 2).mean({0}, keepdim=True)\n"
    "return (x - m) / torch.sqrt(v + 1e-5) * self.weight.view(1, -1, 1, 1)"
)
COLUMNS = {
    "first": task("return x.sum(0)", "x = torch.randn(70, 130)"),
    "first_two": task("return x.sum((0, 1))", MIDDLE),
    "mean_of_middle": task("return torch.relu(x * 2).mean(1) + 1", MIDDLE),
    "softmax": task("return F.softmax(x, 1)", MIDDLE),
    "softmax_long": task("return F.softmax(x, 1)", LONG),
    "log_softmax_of_channels": task("return F.log_softmax(x * 3, dim=1)", IMAGE),
    "logsumexp": task("return torch.logsumexp(x, 1) * 2", MIDDLE),
    "spread_and_places": task("return x.var(1), x.amax(1, keepdim=True), x.argmax(1), torch.min(x, 1)", MIDDLE),
    "spread_long": task("return x.var(1), x.amax(1, keepdim=True), x.prod(1)", LONG),
    "norm_over_channels": task(NORM.format(1), IMAGE, WEIGHT, "6"),
    "cosine": task("return F.cosine_similarity(x, x * x + 1, dim=1)", MIDDLE),
    "half": task("return F.softmax(x, 0)", "x = torch.randn(60, 90).half()"),
}
AROUND = {
    "batch_norm_written": task(NORM.format("(0, 2, 3)"), IMAGE, WEIGHT, "6"),
    "batch_norm_of_long": task(NORM.format("(0, 2, 3)"), "x = torch.randn(8, 6, 60, 57)", WEIGHT, "6"),
    "first_and_last": task("return x.sum((0, 2)), x.amax((0, 2), keepdim=True)", MIDDLE),
}
"""Reductions around a dimension: the last one is among them, so that neighbors are reduced together."""


@pytest.mark.parametrize("name", COLUMNS | AROUND)
def test_values_are_right(name: str) -> None:
    text = (COLUMNS | AROUND)[name]
    match = match_task(name, text)
    assert isinstance(match, Plan)
    assert [region.recipe for region in match.regions] == ["columns" if name in COLUMNS else "rows"]
    source = match.write(match.tunings[0])
    assert interpreting(find_problems, text, source, launches=1) == []
    assert lint(read_kernel(source)).findings == ()
    assert find_tuning(match, source) == match.tunings[0]


@pytest.mark.parametrize("name", ["softmax", "spread_long"])
def test_every_tuning_is_right(name: str) -> None:
    match = match_task(name, COLUMNS[name])
    near = [one for stage in ("grid", "block", "memory") for one in match.variations(match.tunings[0], stage)]
    for tuning in dict.fromkeys((*match.tunings[1:], *near)):
        assert interpreting(find_problems, COLUMNS[name], match.write(tuning), launches=1) == [], tuning


@pytest.mark.parametrize("name", ["softmax_long", "spread_and_places"])
def test_the_judge_passes_it(name: str, judge: Judge, tmp_path: Path) -> None:
    match = match_task(name, COLUMNS[name])
    assert_clean(judge_written(judge, tmp_path, COLUMNS[name], match, match.tunings[0]))


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
@pytest.mark.parametrize(
    ("name", "small", "large"),
    [("softmax", "5, 70, 33", "64, 512, 4096"), ("spread_long", "3, 1100, 40", "16, 4096, 4095")],
)
def test_columns_stay_in_registers(name: str, small: str, large: str, target: str, tmp_path: Path) -> None:
    text = COLUMNS[name].replace(small, large)
    match = match_task(f"{name}_large", text)
    for tuning in match.tunings:
        kernels = compile_exact(text, match.write(tuning), target, str(tmp_path))
        assert [kernel.spills for kernel in kernels] == [0], tuning
