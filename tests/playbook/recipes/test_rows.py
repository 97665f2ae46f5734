"""Reductions over rows, from the graph to one kernel: its text, its values, and the judge's word."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path

import pytest
from golden_texts import golden
from playbook_children import Twins, compile_exact, difference, find_problems, interpreting
from playbook_judging import ONE_TARGET, assert_clean, judge_written, some_of
from playbook_surveys import match_task, survey_task
from playbook_tasks import LAYERNORM, ROWS, task

from tilesmith.judge import Judge
from tilesmith.lint import lint, read_kernel
from tilesmith.playbook import find_match
from tilesmith.playbook.plan.plan import Plan
from tilesmith.playbook.recipe import Match, Tuning
from tilesmith.playbook.recipes.shared_rows import MOST_PARTS
from tilesmith.playbook.tuning import find_tuning
from tilesmith.tasks.gpus import REPRESENTATIVES

EXAMPLES = Path(__file__).parents[3] / "examples"
QUEUED = {
    "softmax": task("return F.softmax(x, -1)", "x = torch.randn(9, 40000)"),
    "layernorm": task("return self.norm(x)", "x = torch.randn(9, 40000)", LAYERNORM, "40000"),
    "named_like_ours": task(
        "return F.softmax(ticket * reduced, -1)", "ticket = torch.randn(9, 40000)\nreduced = torch.randn(40000)"
    ),
    "batch_norm": task(
        "m = x.mean((0, 2, 3), keepdim=True)\nv = ((x - m) ** 2).mean((0, 2, 3), keepdim=True)\n"
        "return (x - m) / torch.sqrt(v + 1e-5), m, v",
        "x = torch.randn(8, 12, 60, 57)",
    ),
}
JUDGED = ("extremes_and_places", "layernorm_long", "places_long", "loss_of_all")


@pytest.mark.parametrize("name", ROWS)
def test_the_text_is_as_it_was(name: str) -> None:
    match = match_task(name, ROWS[name])
    assert isinstance(match, Plan)
    assert [region.recipe for region in match.regions] == ["rows"]
    source = match.write(match.tunings[0])
    assert source == golden(f"rows/{name}")
    assert lint(read_kernel(source)).findings == ()
    assert find_tuning(match, source) == match.tunings[0]


@pytest.mark.parametrize("name", ROWS)
def test_values_are_right(name: str) -> None:
    match = match_task(name, ROWS[name])
    source = match.write(match.tunings[0])
    assert interpreting(find_problems, ROWS[name], source, launches=launches(match.tunings[0])) == []


def launches(tuning: Tuning) -> int:
    """Rows that programs share take two."""
    return 2 if "PART_N" in tuning else 1


@pytest.mark.parametrize("name", some_of(ROWS, JUDGED))
def test_the_judge_passes_it(name: str, judge: Judge, tmp_path: Path) -> None:
    match = match_task(name, ROWS[name])
    tuning = match.tunings[0]
    assert_clean(judge_written(judge, tmp_path, ROWS[name], match, tuning), launches(tuning))


@pytest.mark.parametrize(("name", "long"), [("softmax_long", 393216), ("layernorm_long", 4194304)])
@pytest.mark.parametrize("target", ONE_TARGET)
def test_shared_rows_stay_in_registers(name: str, long: int, target: str, tmp_path: Path) -> None:
    text = ROWS[name].replace("40000", str(long))
    survey = replace(survey_task(f"{name}_{long}", text), gpu=REPRESENTATIVES[target])
    match = find_match(survey)
    assert isinstance(match, Plan)
    for tuning in match.tunings:
        if "BLOCK_N" not in tuning:
            kernels = compile_exact(text, match.write(tuning), target, str(tmp_path))
            assert [kernel.spills for kernel in kernels] == [0] * launches(tuning), tuning


@pytest.mark.parametrize("millions", [1, 100, 200])
def test_a_program_can_put_together_what_all_parts_say(millions: int) -> None:
    text = task("return x / torch.linalg.vector_norm(x)", f"x = torch.randn({millions}, 1000, 1000)")
    shared = [one for one in match_task("norm", text).tunings if "PART_N" in one]
    assert shared
    assert max(millions * 10**6 / one["PART_N"] for one in shared) <= 2 * MOST_PARTS


@pytest.mark.parametrize("name", some_of(["softmax", "layernorm"], ["softmax"]))
def test_the_judge_passes_the_examples(name: str, judge: Judge, tmp_path: Path) -> None:
    text = (EXAMPLES / f"{name}.py").read_text()
    match = match_task(name, text)
    assert_clean(judge_written(judge, tmp_path, text, match, match.tunings[0]))


def other_tunings(match: Match) -> list[Tuning]:
    near = [one for stage in ("grid", "block", "memory") for one in match.variations(match.tunings[0], stage)]
    return list(dict.fromkeys((*match.tunings[1:], *near)))


def test_every_tuning_is_right() -> None:
    text = ROWS["layernorm"]
    match = match_task("layernorm", text)
    for tuning in other_tunings(match):
        assert interpreting(find_problems, text, match.write(tuning), launches=1) == [], tuning


@pytest.mark.parametrize("name", ["softmax_long", "row_sum_long"])
def test_every_tuning_of_a_shared_row_is_right(name: str) -> None:
    match = match_task(name, ROWS[name])
    ways = {"PART_N", "BLOCK_N", "HELD_N", "QUEUE_N"} if name == "softmax_long" else {"PART_N", "BLOCK_N"}
    assert ways <= {name for tuning in match.tunings for name in tuning.names}
    for tuning in match.tunings:
        source = match.write(tuning)
        assert interpreting(find_problems, ROWS[name], source, launches=launches(tuning)) == [], tuning


def test_few_rows_are_shared_though_they_fit() -> None:
    match = match_task("few", ROWS["softmax"].replace("30, 517", "4, 9000"))
    assert "HELD_N" in match.tunings[0]
    assert any("ROWS" in tuning for tuning in match.tunings)


def test_rows_are_held_only_where_their_programs_run_at_the_same_time() -> None:
    longest = 32768 * 132
    for length, held in ((longest, True), (longest + 1, False)):
        match = match_task(f"row_of_{length}", ROWS["softmax_long"].replace("40000", str(length)))
        assert any("HELD_N" in tuning for tuning in match.tunings) == held


@pytest.mark.parametrize("schedule", range(4))
def test_programs_of_a_row_meet_in_any_order(schedule: int) -> None:
    match = match_task("softmax_long", ROWS["softmax_long"])
    assert "HELD_N" in match.tunings[0]
    assert interpreting(worst_error, ROWS["softmax_long"], match.write(match.tunings[0]), schedule) < 1e-6


def worst_error(text: str, kernel: str, schedule: int) -> float:
    import torch

    return Twins(text, kernel).error(torch.randn(5, 40000), schedule=schedule)


def queued(match: Match) -> Tuning:
    return next(tuning for tuning in match.tunings if "QUEUE_N" in tuning)


@pytest.mark.parametrize("name", QUEUED)
@pytest.mark.parametrize("schedule", range(4))
def test_a_queue_is_right_in_any_order(name: str, schedule: int) -> None:
    """With one multiprocessor most parts are reduced and written by turns; with many, all are reduced first."""
    match = match_task(name, QUEUED[name])
    errors = interpreting(worst_errors_in_a_queue, QUEUED[name], match.write(queued(match)), schedule)
    assert max(errors) < 2e-6


def worst_errors_in_a_queue(text: str, kernel: str, schedule: int) -> list[float]:
    twins = Twins(text, kernel)
    inputs = twins.loaded.make_inputs().args
    runs = [twins.outputs(*inputs, schedule=schedule, multiprocessors=count) for count in (1, 132)]
    return [difference(one, twins.expected(*inputs)) for one in runs]


def test_the_judge_passes_a_queue(judge: Judge, tmp_path: Path) -> None:
    match = match_task("softmax_long", ROWS["softmax_long"])
    assert_clean(judge_written(judge, tmp_path, ROWS["softmax_long"], match, queued(match)))


def test_rows_are_queued_only_where_the_l2_holds_those_in_flight() -> None:
    def ways(name: str, length: int) -> set[str]:
        match = match_task(f"{name}_of_{length}", ROWS[name].replace("40000", str(length)))
        return {name for tuning in match.tunings for name in tuning.names}

    assert "QUEUE_N" in ways("softmax_long", 4_000_000)
    assert "QUEUE_N" not in ways("softmax_long", 6_000_000)
    assert "QUEUE_N" not in ways("layernorm_long", 4_000_000)
    assert "QUEUE_N" not in ways("row_sum_long", 400_000)


def test_what_all_rows_have_is_read_once_where_the_l2_would_forget_it() -> None:
    survey = survey_task("layernorm_long", ROWS["layernorm_long"])
    assert survey.gpu is not None
    match = find_match(replace(survey, gpu=replace(survey.gpu, l2_bytes=2**19)))
    assert isinstance(match, Plan)
    assert "PART_N" in match.tunings[0]
    source = match.write(match.tunings[0])
    assert "part = program // M" in source
    assert interpreting(find_problems, ROWS["layernorm_long"], source, launches=2) == []


def test_a_row_may_be_shorter_than_the_correction() -> None:
    text = task("return x.var(-1, correction=3)", "x = torch.randn(30, 17)")
    match = match_task("correction", text)
    assert interpreting(spread_of_short_rows, text, match.write(match.tunings[0])) == [[inf] * 4, [inf] * 4]


def spread_of_short_rows(text: str, kernel: str) -> list[list[float]]:
    """What the written model and PyTorch make of rows of two."""
    import torch

    twins, x = Twins(text, kernel), torch.randn(4, 2)
    return [found[0].tolist() for found in (twins.outputs(x), twins.expected(x))]


def test_an_entropy_of_infinities_is_what_pytorch_says() -> None:
    text = ROWS["entropy_of_logits_long"]
    match = match_task("entropy_of_logits_long", text)
    assert "PART_N" in match.tunings[0]
    assert interpreting(entropies_differ, text, match.write(match.tunings[0])) is False


def entropies_differ(text: str, kernel: str) -> bool:
    import torch

    twins, x = Twins(text, kernel), torch.randn(6, 40000)
    x[0, 5], x[1, 7], x[2, 9], x[3], x[4] = -torch.inf, torch.inf, torch.nan, -torch.inf, 1e30
    x[5] *= 300
    (got,), (expected,) = twins.outputs(x), twins.expected(x)
    return not torch.allclose(got, expected, rtol=1e-6, atol=1e-6, equal_nan=True)


def test_a_row_that_every_cache_forgets_is_read_once_by_programs_that_share_it() -> None:
    """One program would read it for the maximum, for the exponentials and for the entropy."""
    for rows, length, shared in ((300, 400_000, True), (300, 20_000, False)):
        text = ROWS["entropy_of_logits_long"].replace("5, 40000", f"{rows}, {length}")
        assert ("PART_N" in match_task(f"entropy_of_{length}", text).tunings[0]) == shared


@pytest.mark.parametrize(
    ("forward", "inputs", "way"),
    [
        ("return F.instance_norm(x)", "x = torch.randn(8, 64, 250, 250)", "HELD_N"),
        ("return F.group_norm(x, 8, x[0, :, 0, 0])", "x = torch.randn(64, 64, 100, 100)", "QUEUE_N"),
        ("return F.softmax(x, -1)", "x = torch.randn(600, 24000)", "ROWS"),
        ("return x.cumsum(-1)", "x = torch.randn(600, 100000)", "BLOCK_N"),
    ],
)
def test_many_long_rows_are_read_once(forward: str, inputs: str, way: str) -> None:
    match = match_task(f"many_{way}", task(forward, inputs))
    assert any(name.endswith(way) for name in match.tunings[0].names), match.tunings[0]
    assert way != "BLOCK_N" or all("QUEUE_N" not in tuning for tuning in match.tunings)


def test_a_row_on_chip_has_a_warp_for_every_thousand_elements() -> None:
    for length, warps in ((700, 1), (1152, 2), (8000, 8), (10_000, 16)):
        match = match_task(f"row_of_{length}", ROWS["softmax"].replace("30, 517", f"3000, {length}"))
        assert match.tunings[0] == Tuning((("ROWS", 1), ("NUM_WARPS", warps)))
    match = match_task("scan", task("return x.cumsum(-1)", "x = torch.randn(3000, 8192)"))
    assert match.tunings[0] == Tuning((("ROWS", 1), ("NUM_WARPS", 4)))


def test_what_is_the_same_for_all_of_a_row_is_counted_and_not_added_up() -> None:
    text = task("return (x * x).sum(-1) / (torch.ones_like(x).sum(-1) - 1)", "x = torch.randn(30, 517)")
    source = match_task("counted", text).write(match_task("counted", text).tunings[0])
    assert source.count("tl.sum(") == 1
    assert interpreting(find_problems, text, source, launches=1) == []


def test_a_sum_of_billions_has_few_partial_sums() -> None:
    """Every program adds up as many tiles as it takes for the sums to be few."""
    match = match_task("all", ROWS["loss_of_all"].replace("13, 210", "13, 2100000"))
    assert "SPAN = triton.cdiv(tiles, min(tiles, 4096)) * PART_N" in match.write(match.tunings[0])


@pytest.mark.slow_suite
def test_the_judge_passes_every_tuning(judge: Judge, tmp_path: Path) -> None:
    match = match_task("layernorm", ROWS["layernorm"])
    for tuning in other_tunings(match):
        assert_clean(judge_written(judge, tmp_path, ROWS["layernorm"], match, tuning))


def blocked(match: Match) -> Tuning:
    return next(tuning for tuning in match.tunings if "BLOCK_N" in tuning)


def test_a_row_that_fits_may_still_be_read_in_blocks() -> None:
    text = ROWS["softmax"].replace("30, 517", "3, 4100")
    match = match_task("softmax", text)
    source = match.write(blocked(match))
    assert "for start in range(0, N, BLOCK_N)" in source
    assert interpreting(find_problems, text, source, launches=1) == []


@pytest.mark.slow_suite
def test_the_judge_passes_a_row_in_blocks(judge: Judge, tmp_path: Path) -> None:
    text = (EXAMPLES / "softmax.py").read_text()
    match = match_task("softmax", text)
    assert_clean(judge_written(judge, tmp_path, text, match, blocked(match)))
