"""Two suites side by side, in words."""

from __future__ import annotations

from collections.abc import Iterator

from tilesmith.runs.event_text import one_line, score_text
from tilesmith.suite.comparison import Standing, SuiteComparison, TaskComparison
from tilesmith.suite.records import JobOutcome

MOST_TASKS = 40
"""Told one by one of those that were won, and of those that were lost."""
_LONGEST = 60


def summary_lines(found: SuiteComparison) -> Iterator[str]:
    """The answer, a line for each question."""
    parts = [f"better for {found.won}", f"worse for {found.lost}", f"the same for {found.equal}"]
    parts += [f"not known for {found.unknown}"] if found.unknown else []
    yield f"of {_tasks(len(found.tasks))} in both, the second is {', '.join(parts)}"
    if found.geometric_mean is not None:
        mean = f"{found.geometric_mean:.3g} times the speedup of the first, geometric mean of {_tasks(found.timed)}"
        yield f"speed: {mean}; {probability_text(found.speed_p)}"
    gained, lost = found.newly_correct, found.no_longer_correct
    told = f"{_tasks(gained)} more and {lost} fewer have a kernel that passed"
    yield f"correct: {told}; {probability_text(found.correct_p)}" if gained or lost else "correct: the same tasks"
    for name, only in (("first", found.only_first), ("second", found.only_second)):
        if only:
            yield f"only the {name} has {_tasks(len(only))}: {one_line(', '.join(only), 2 * _LONGEST)}"


def probability_text(p: float | None) -> str:
    """What a p says; below 0.05 a difference counts as more than chance."""
    if p is None:
        return ""
    number = f"p = {p:.2g}" if p >= 0.001 else "p < 0.001"
    return f"{number}, {'more than' if p < 0.05 else 'may be'} chance"


def task_rows(found: SuiteComparison) -> Iterator[tuple[str, str, str, str, str]]:
    """Standing, task, first, second and ratio of the tasks that are not equal, the largest change first. What is
    more than `MOST_TASKS` is counted."""
    for standing in (Standing.WON, Standing.LOST, Standing.UNKNOWN):
        some = [one for one in found.tasks if one.standing is standing]
        some.sort(key=lambda one: (one.ratio is not None, one.ratio or 0.0), reverse=standing is Standing.WON)
        for one in some[:MOST_TASKS]:
            ratio = f"{one.ratio:.2f}" if one.ratio is not None else ""
            yield standing, one_line(one.task, _LONGEST), _side(one.first, one.first_score), _second(one), ratio
        if len(some) > MOST_TASKS:
            yield standing, f"and {_tasks(len(some) - MOST_TASKS)} more, see --json", "", "", ""


def _tasks(count: int) -> str:
    return f"{count} task{'' if count == 1 else 's'}"


def _second(one: TaskComparison) -> str:
    told = _side(one.second, one.second_score)
    return f"{told}: {one_line(one.why, _LONGEST)}" if one.why and one.second is not JobOutcome.PASSED else told


def _side(outcome: JobOutcome, score: float | None) -> str:
    return f"{outcome} {score_text(score)}".rstrip()
