"""Two runs side by side, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tilesmith.records import Speedup
from tilesmith.runs.compared.comparison import RunComparison, SettingDifference, SpeedupComparison
from tilesmith.runs.compared.facts import RunFacts
from tilesmith.runs.event_text import clock_text, money_text, one_line, score_text
from tilesmith.runs.summary import CallCosts

_LONGEST = 60
"""Characters of a cell that could be of any length."""


def comparison_rows(found: RunComparison) -> Iterator[tuple[str, str, str]]:
    """A label, and what is to be said of the first and of the second."""
    yield from zip(_LABELS, _cells(found.first), _cells(found.second), strict=True)
    for one in found.baselines:
        yield f"over {one.baseline}", _gain(one.first), _gain(one.second)
    yield from setting_rows(found.settings)


def setting_rows(settings: Iterable[SettingDifference]) -> Iterator[tuple[str, str, str]]:
    """What differs in how two runs, or two suites, were asked for."""
    for one in settings:
        yield one.setting.replace("_", " "), _value(one.first), _value(one.second)


_LABELS = ("run", "task", "author", "status", "machine", "attempts", "best", "kernel time", "cost", "time")


def _cells(run: RunFacts) -> tuple[str, ...]:
    spent = run.spent or CallCosts()
    usage = spent.usage
    best = "none" if run.best is None else f"kernel {run.best}, {score_text(run.score) or 'not timed'}"
    cost = f"{usage.tokens:,} tokens in {spent.calls} calls, {money_text(usage.dollars, spent.known_dollars)}"
    return (
        run.run,
        run.task or "",
        run.author or "",
        run.status,
        run.device or "",
        f"{run.attempts}, {run.passed} passed",
        best,
        "" if run.candidate_ms is None else f"{run.candidate_ms:.4g} ms",
        cost,
        clock_text(run.busy_s or 0.0),
    )


def _gain(gain: Speedup | None) -> str:
    return "not measured" if gain is None else gain.describe()


def _value(value: Any) -> str:
    return "none" if value is None else one_line(str(value), _LONGEST)


def conclusions(found: RunComparison) -> list[str]:
    """A line for all baselines over which the same is to be said."""
    over: dict[str, list[str]] = {}
    for one in found.baselines:
        over.setdefault(_conclusion(one), []).append(one.baseline)
    return [f"over {', '.join(names)}: {told}" for told, names in over.items()]


def _conclusion(one: SpeedupComparison) -> str:
    if one.overlap is None or one.first is None or one.second is None:
        return "measured in one of them only"
    if one.overlap:
        return "the intervals overlap, so neither speedup is known to be larger"
    winner = "first" if one.first.value > one.second.value else "second"
    return f"the {winner} has the larger speedup; the intervals do not overlap"
