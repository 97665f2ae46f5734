"""Reductions over dimensions that are not the last, from the graph to one kernel."""

from __future__ import annotations

from pathlib import Path

import pytest
from playbook_children import Twins, compile_exact, difference, find_problems, interpreting
from playbook_judging import ONE_TARGET, assert_clean, judge_written
from playbook_surveys import match_task
from playbook_tasks import IMAGE, WEIGHT, task

from tilesmith.judge import Judge
from tilesmith.lint import lint, read_kernel
from tilesmith.playbook.plan.plan import Plan
from tilesmith.playbook.recipe import Tuning
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
    "mean_of_few": task("return x.mean(0), x.amax(0)", "x = torch.randn(3000, 40)"),
    "masked_mean_of_few": task(
        "return (x * m.unsqueeze(-1)).sum(1) / x.shape[1]",
        "x = torch.randn(3, 700, 128)\nm = torch.rand(3, 700)",
    ),
    "places_in_few": task("return x.argmax(1), x.argmin(1), torch.max(x, 1)", "x = torch.randn(3, 700, 40)"),
    "places_of_nan": task(
        "return x.argmax(1), (x != x).int().argmax(1), (x != x).int().sum(1)", "x = torch.randn(3, 700, 40)"
    ),
    "places_of_equals": task("return x.argmax(1), x.argmin(1)", "x = torch.randint(0, 4, (3, 300, 70))"),
    "named_like_ours": task(
        "return (outer * is_better.unsqueeze(-1)).amax(1) + block",
        "outer = torch.randn(3, 700, 128)\nis_better = torch.rand(3, 700)\nblock = torch.randn(128)",
    ),
    "turned_after_columns": task(
        "return (F.softmax(x, 1) + x).transpose(1, 2) * y",
        "x = torch.randn(3, 70, 128)\ny = torch.randn(3, 128, 70)",
    ),
    "of_a_transposed": task("return torch.logsumexp(x.T, 1) * 2, x.T.argmax(1)", "x = torch.randn(1100, 1003)"),
    "of_transposed_matrices": task("return (x.transpose(1, 2) ** 2).sum(-1)", "x = torch.randn(3, 601, 650)"),
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
    assert {region.recipe for region in match.regions} == {"columns" if name in COLUMNS else "rows"}
    source = match.write(match.tunings[0])
    assert interpreting(find_problems, text, source, launches=launches(match.tunings[0])) == []
    assert lint(read_kernel(source)).findings == ()
    assert find_tuning(match, source) == match.tunings[0]


def launches(tuning: Tuning) -> int:
    """Columns that programs share take two."""
    return 2 if any(name.endswith("PART_N") for name in tuning.names) else 1


@pytest.mark.parametrize("name", ["softmax", "spread_long", "masked_mean_of_few", "places_of_equals"])
def test_every_tuning_is_right(name: str) -> None:
    match = match_task(name, COLUMNS[name])
    near = [one for stage in ("grid", "block", "memory") for one in match.variations(match.tunings[0], stage)]
    for tuning in dict.fromkeys((*match.tunings[1:], *near)):
        source = match.write(tuning)
        assert interpreting(find_problems, COLUMNS[name], source, launches=launches(tuning)) == [], tuning


def test_few_columns_are_shared_by_as_many_programs_as_keep_a_gpu_busy() -> None:
    few = match_task("mean_of_few", COLUMNS["mean_of_few"])
    many = match_task("place_in_many", task("return x.argmax(1)", "x = torch.randn(300, 80, 256)"))
    assert "PART_N" in few.tunings[0]
    assert not any("PART_N" in tuning for tuning in many.tunings)
    source = few.write(few.tunings[0])
    for multiprocessors in (1, 8, 132):
        assert interpreting(error_of_sums, COLUMNS["mean_of_few"], source, multiprocessors) < 1e-6


def error_of_sums(text: str, kernel: str, multiprocessors: int) -> float:
    import torch

    twins, x = Twins(text, kernel), torch.randn(3001, 40)
    return difference(twins.outputs(x, multiprocessors=multiprocessors), twins.expected(x))


@pytest.mark.parametrize("way", ["PART_N", "BLOCK_N"])
def test_places_of_nan_and_of_nothing_but_infinities(way: str) -> None:
    text = COLUMNS["places_in_few"]
    match = match_task("places_in_few", text)
    source = match.write(next(tuning for tuning in match.tunings if way in tuning))
    assert interpreting(find_wrong_places, text, source) == []


@pytest.mark.parametrize("way", ["PART_N", "BLOCK_N"])
def test_a_place_keeps_nan_and_nothing_else_is_kept_for_it(way: str) -> None:
    text = COLUMNS["places_of_nan"]
    match = match_task("places_of_nan", text)
    source = match.write(next(tuning for tuning in match.tunings if way in tuning))
    assert "first_nan_acc" not in source
    assert interpreting(find_wrong_places, text, source) == []


def find_wrong_places(text: str, kernel: str) -> list[int]:
    """Outputs that differ where columns have NaN, or one infinity everywhere."""
    import torch

    twins, x = Twins(text, kernel), torch.randn(3, 700, 40)
    x[0, 333, :9], x[0, 600, 5:20] = torch.nan, torch.nan
    x[1, :, :9], x[1, :, 9:20], x[2, :, 3] = -torch.inf, torch.inf, torch.nan
    pairs = zip(twins.outputs(x), twins.expected(x), strict=True)
    return [
        place
        for place, (got, expected) in enumerate(pairs)
        if not torch.equal(got.nan_to_num(7), expected.nan_to_num(7))
    ]


def test_rows_and_columns_of_a_matrix_are_two_kernels() -> None:
    """Of a small one they are one, because a launch costs more."""
    for size, recipes in ((1030, ["columns", "rows"]), (300, ["rows"])):
        inputs = f"x = torch.randn({size}, {size})"
        text = task("y = x * 2\nreturn torch.logsumexp(y, 1) + torch.logsumexp(y.T, 1)", inputs)
        match = match_task(f"both_ways_of_{size}", text)
        assert isinstance(match, Plan)
        assert sorted(region.recipe for region in match.regions) == recipes
        assert interpreting(find_problems, text, match.write(match.tunings[0]), launches=len(recipes)) == []


def test_programs_are_narrower_where_they_take_turns() -> None:
    text = COLUMNS["mean_of_middle"]
    first, many = (text.replace("5, 70, 33", f"{count}, 512, 768") for count in (128, 256))
    assert match_task("one_wave", first).tunings[0]["BLOCK_M"] == 128
    assert match_task("some_waves", many).tunings[0]["BLOCK_M"] == 64


def test_a_program_keeps_to_one_place_where_its_lanes_are_filled() -> None:
    """What does not differ between its columns is then read once, and not by every lane."""
    match = match_task("masked_mean_of_few", COLUMNS["masked_mean_of_few"])
    assert "m_ptr + outer * N + rows, mask=mask_n" in match.write(match.tunings[0])


@pytest.mark.parametrize("name", ["softmax_long", "spread_and_places", "places_in_few"])
def test_the_judge_passes_it(name: str, judge: Judge, tmp_path: Path) -> None:
    match = match_task(name, COLUMNS[name])
    tuning = match.tunings[0]
    assert_clean(judge_written(judge, tmp_path, COLUMNS[name], match, tuning), launches(tuning))


@pytest.mark.parametrize("target", ONE_TARGET)
@pytest.mark.parametrize(
    ("name", "small", "large"),
    [
        ("softmax", "5, 70, 33", "64, 512, 4096"),
        ("spread_long", "3, 1100, 40", "16, 4096, 4095"),
        ("places_in_few", "3, 700, 40", "3, 100000, 96"),
    ],
)
def test_columns_stay_in_registers(name: str, small: str, large: str, target: str, tmp_path: Path) -> None:
    text = COLUMNS[name].replace(small, large)
    match = match_task(f"{name}_large", text)
    for tuning in match.tunings:
        kernels = compile_exact(text, match.write(tuning), target, str(tmp_path))
        assert [kernel.spills for kernel in kernels] == [0] * launches(tuning), tuning
