"""Two suites side by side."""

from __future__ import annotations

import io
import math
from dataclasses import replace

import pytest
from rich.console import Console
from sample_suite import SPECIFICATION, many_rows, row, samples_of, suite_of

from tilesmith.cli.display.comparison_display import show_suite_comparison
from tilesmith.forge.settings import ForgeSettings
from tilesmith.records import Speedup
from tilesmith.suite.comparison import SuiteComparison, compare_suites
from tilesmith.suite.records import JobOutcome, Row


def compared(first: Row, second: Row) -> tuple[str, float | None]:
    (task,) = compare_suites(suite_of(first), suite_of(second)).tasks
    return task.standing, task.ratio


def shown(found: SuiteComparison) -> str:
    text = io.StringIO()
    show_suite_comparison(found, Console(file=text, width=160))
    return text.getvalue()


@pytest.mark.parametrize(
    ("first", "second", "standing", "ratio"),
    [
        (row("a", eager=2.0), row("a", eager=4.0), "won", 2.0),
        (row("a", eager=4.0), row("a", eager=2.0), "lost", 0.5),
        (row("a", eager=2.0), row("a", eager=2.2), "equal", 1.1),
        (row("a", eager=2.0), row("a", eager=1.9), "equal", 0.95),
        (row("a", JobOutcome.KEPT), row("a", eager=4.0), "won", 2.0),
        (row("a", JobOutcome.KEPT), row("a", eager=1.0), "lost", 0.5),
        (row("a", JobOutcome.KEPT), row("a", JobOutcome.KEPT), "equal", None),
        (row("a", JobOutcome.KEPT), row("a", JobOutcome.FAILED), "lost", None),
        (row("a", JobOutcome.FAILED), row("a", eager=0.2), "won", None),
        (row("a"), row("a", JobOutcome.FAILED), "lost", None),
        (row("a"), row("a", eager=4.0), "equal", None),
        (row("a", JobOutcome.FAILED), row("a", JobOutcome.FAILED), "equal", None),
        (row("a", JobOutcome.ERROR), row("a", eager=4.0), "unknown", None),
    ],
)
def test_a_task(first: Row, second: Row, standing: str, ratio: float | None) -> None:
    found, by = compared(first, second)
    assert found == standing
    assert by is None if ratio is None else by == pytest.approx(ratio)


def test_the_interval_is_of_the_baseline_that_the_score_is_over() -> None:
    wide = {"eager": Speedup(3.0, 0.1, 9.0), "compile": Speedup(1.2, 1.19, 1.21)}
    second = {"eager": Speedup(3.0, 0.1, 9.0), "compile": Speedup(1.3, 1.29, 1.31)}
    standing, ratio = compared(row("a", score=1.2, speedup=wide), row("a", score=1.3, speedup=second))
    assert (standing, ratio) == ("won", pytest.approx(1.3 / 1.2))


def test_a_difference_in_every_task_is_more_than_chance() -> None:
    first = tuple(row(f"t{number}", eager=2.0) for number in range(8))
    second = tuple(row(f"t{number}", eager=2.0 * (1.2 if number else 1.1)) for number in range(8))
    found = compare_suites(suite_of(*first), suite_of(*second))
    assert (found.won, found.lost, found.equal, found.timed) == (0, 0, 8, 8)  # each interval alone is too wide
    assert found.geometric_mean == pytest.approx(math.exp((7 * math.log(1.2) + math.log(1.1)) / 8))
    assert found.speed_p == pytest.approx(2 / 2**8)
    assert "1.19 times the speedup of the first" in shown(found)
    assert "p = 0.0078, more than chance" in shown(found)


def test_outcomes_that_changed() -> None:
    before, after = JobOutcome.FAILED, JobOutcome.PASSED
    first = [row(f"t{number}", before) for number in range(6)] + [
        row("x"),
        row("y", JobOutcome.ERROR),
        row("only a"),
    ]
    second = [row(f"t{number}", after) for number in range(6)]
    second += [row("x", JobOutcome.FAILED, why="wrong values: output 0"), row("y"), row("only b")]
    found = compare_suites(suite_of(*first), suite_of(*second))
    assert (found.won, found.lost, found.unknown) == (6, 1, 1)
    assert (found.newly_correct, found.no_longer_correct) == (6, 1)
    assert found.correct_p == pytest.approx(2 * 8 / 2**7)
    assert (found.only_first, found.only_second) == (("only a",), ("only b",))
    assert (found.geometric_mean, found.speed_p, found.timed) == (None, None, 0)
    assert "no task was timed in both, so only outcomes are compared" in found.notes
    assert "failed: wrong values: output 0" in shown(found)
    assert "6 tasks more and 1 fewer have a kernel that passed; p = 0.12, may be chance" in shown(found)


def test_what_may_make_the_numbers_differ() -> None:
    other = replace(SPECIFICATION, author=None, settings=ForgeSettings(seeds=5))
    first = suite_of(row("a", eager=2.0, device="H200"), left=("b",), tilesmith="1")
    second = suite_of(*samples_of(row("a", eager=2.0), row("a", eager=3.0)), specification=other, tilesmith="2")
    found = compare_suites(first, second)
    assert found.tasks[0].second_score == 1.5
    assert {one.setting: (one.first, one.second) for one in found.settings} == {
        "author": ("playbook", "others"),
        "playbook": (True, False),
        "seeds": (3, 5),
    }
    assert found.notes == (
        "different machines: H200 and unknown",
        "different versions of tilesmith: 1 and 2",
        "the best of up to 1 and of up to 2 kernels stands for each task",
        "the first is not finished: 1 of 2 jobs have no outcome",
    )


def test_a_forged_suite_beside_kernels_of_others_on_one_machine() -> None:
    """The settings of the forge are no difference, and two words for a machine without a GPU are none."""
    others = replace(SPECIFICATION, author=None, settings=None)
    first = suite_of(row("a", device="no GPU here; compiled for H200"))
    second = suite_of(row("a", device="CPU (Triton interpreter)"), specification=others)
    found = compare_suites(first, second)
    assert [one.setting for one in found.settings] == ["author"]
    assert not any("machines" in note for note in found.notes)


def test_a_task_with_another_text_is_noted() -> None:
    found = compare_suites(suite_of(row("a", digest="1")), suite_of(row("a", digest="2")))
    assert found.notes[0] == "1 tasks have another text in the second, a for one"


def test_a_suite_is_equal_to_itself() -> None:
    suite = suite_of(*many_rows(250))
    found = compare_suites(suite, suite)
    assert (found.won, found.lost, found.notes, found.settings) == (0, 0, (), ())
    assert (found.geometric_mean, found.speed_p, found.correct_p) == (1.0, 1.0, 1.0)
    assert "correct: the same tasks" in shown(found)
