"""A suite as the view of its page. Pure but for the question which files there are to link to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tilesmith.records import BASELINES, to_json
from tilesmith.report import REPORT_NAME
from tilesmith.report.number_text import told_facts
from tilesmith.runs.event_text import clock_text, money_text
from tilesmith.suite.records import JobOutcome, Row, Suite
from tilesmith.suite.statistics import SuiteStatistics, suite_statistics
from tilesmith.suite.statistics.groups import error_reason, failure_of
from tilesmith.suite.statistics.samples import rows_by_task

BASELINE_NAMES = {
    "eager": "eager PyTorch",
    "graph": "eager in a CUDA graph",
    "compile": "torch.compile",
    "best": "the best of them",
}
_WORDS = {False: ("tasks have a right kernel", "a faster one"), True: ("kernels are right", "are faster")}
_TONES = {JobOutcome.PASSED: "good", JobOutcome.KEPT: "even", JobOutcome.FAILED: "bad", JobOutcome.ERROR: "error"}


@dataclass(frozen=True)
class ShownRow:
    """A line of the table: a task, or a kernel for one; where tasks have several kernels, the best of them."""

    name: str
    link: str | None
    """To the page of its run, or to the judge's answer; null where there is none."""
    row: Row
    passed: str
    """How many of its kernels passed, such as `3 of 10`; empty where it has one."""
    verdict: str
    tones: dict[str, str]
    """good, bad or even for each baseline: whether the interval lies above 1, below it or around it."""
    money: str
    attempts: int
    tokens: int
    dollars: float | None
    seconds: float


@dataclass(frozen=True)
class RowGroup:
    """Jobs that ended alike."""

    name: str
    tone: str
    rows: tuple[ShownRow, ...]


@dataclass(frozen=True)
class SuiteView:
    """Everything on the page."""

    title: str
    told: tuple[str, ...]
    """How it stands, in sentences."""
    noun: str
    """What is counted: tasks, or kernels where those of others are judged."""
    statistics: SuiteStatistics
    facts: tuple[tuple[str, str], ...]
    outcomes: tuple[tuple[str, str, int], ...]
    """Name, tone and number of each part of the bar, those that are left at the end."""
    groups: tuple[RowGroup, ...]
    """Failures by verdict, errors by reason, and what is kept for PyTorch."""
    rows: tuple[ShownRow, ...]
    timed: tuple[str, ...]
    """The baselines that anything was timed against."""
    settings: tuple[tuple[str, str], ...]
    data: tuple[str, ...]
    """The names of the files beside the page that hold the same."""


def suite_view(suite: Suite, folder: Path) -> SuiteView:
    """Links lead to the pages of runs that are there."""
    statistics = suite_statistics(suite)
    noun = "kernels" if suite.judges_others else "tasks"
    shown = {row.key: _shown((row,), folder) for row in suite.rows}
    has_samples = statistics.whole.samples is not None
    by_task = (_shown(rows, folder) for rows in rows_by_task(suite.rows).values())
    return SuiteView(
        title=suite.specification.name,
        told=tuple(_told(suite, statistics, noun)),
        noun=noun,
        statistics=statistics,
        facts=tuple(_facts(suite, statistics)),
        outcomes=tuple(_outcomes(statistics)),
        groups=tuple(_groups(suite, shown)),
        rows=tuple(by_task if has_samples else shown.values()),
        timed=tuple(over for over in BASELINES if statistics.whole.speed[over].timed),
        settings=tuple(_settings(suite)),
        data=tuple(name for name in ("suite.json", "suite.csv") if (folder / name).is_file()),
    )


def _told(suite: Suite, statistics: SuiteStatistics, noun: str) -> Iterator[str]:
    whole = statistics.whole
    if statistics.left:
        yield f"Not finished: {whole.jobs} of {statistics.jobs} {noun} have an outcome."
        if suite.why_unfinished:
            yield f"{suite.why_unfinished[:1].upper()}{suite.why_unfinished[1:].rstrip('.')}."
    if whole.jobs:
        right, faster = _WORDS[suite.judges_others]
        share = whole.speed["eager"].fast_1
        fast = "" if share is None else f", {round(share * whole.jobs)} {faster} than eager PyTorch"
        yield f"{whole.passed} of {whole.jobs} {right}{fast}."
    if suite.without_kernel:
        left_out = "1 task has" if suite.without_kernel == 1 else f"{suite.without_kernel} tasks have"
        yield f"{left_out} no kernel, and no number here counts that."


def _facts(suite: Suite, statistics: SuiteStatistics) -> Iterator[tuple[str, str]]:
    whole, author = statistics.whole, suite.specification.author
    if whole.devices:
        several = len(whole.devices) > 1
        yield "device", ", ".join(f"{name} ({count})" if several else name for name, count in whole.devices.items())
    yield "date", f"{suite.created.replace('T', ' ')[:16]} UTC"
    yield "author", author.name if author else "others; judged here"
    if suite.seconds:
        yield "time", clock_text(suite.seconds)
    if whole.tokens:
        yield "tokens", f"{whole.tokens:,}"
        yield "cost", money_text(whole.dollars, whole.known_dollars)
    if suite.tilesmith:
        yield "tilesmith", suite.tilesmith


def _outcomes(statistics: SuiteStatistics) -> Iterator[tuple[str, str, int]]:
    whole = statistics.whole
    counts = {
        "passed": whole.passed,
        "kept for PyTorch": whole.kept,
        "failed": whole.failed,
        "errors": whole.errors,
    }
    for (name, count), tone in zip(counts.items(), _TONES.values(), strict=True):
        if count:
            yield name, tone, count
    if statistics.left:
        yield "left", "left", statistics.left


def _groups(suite: Suite, shown: dict[str, ShownRow]) -> Iterator[RowGroup]:
    found: dict[tuple[JobOutcome, str], list[ShownRow]] = {}
    for row in suite.rows:
        if row.outcome is not JobOutcome.PASSED:
            names = {JobOutcome.FAILED: failure_of(row).replace("_", " "), JobOutcome.KEPT: "kept for PyTorch"}
            name = names.get(row.outcome) or error_reason(row)
            found.setdefault((row.outcome, name), []).append(shown[row.key])
    order = [JobOutcome.FAILED, JobOutcome.ERROR, JobOutcome.KEPT]
    for (outcome, name), rows in sorted(found.items(), key=lambda one: (order.index(one[0][0]), -len(one[1]))):
        label = f"error: {name}" if outcome is JobOutcome.ERROR else name
        yield RowGroup(label, _TONES[outcome], tuple(rows))


def _shown(rows: Sequence[Row], folder: Path) -> ShownRow:
    best = max(rows, key=lambda row: (row.passed, row.score or 0.0))
    known = [row.dollars for row in rows if row.dollars is not None]
    dollars = sum(known) if len(known) == len(rows) else None
    tokens = sum(row.tokens for row in rows)
    several = len(rows) > 1
    return ShownRow(
        name=best.task if several else best.key,
        link=_link(best, folder),
        row=best,
        passed=f"{sum(row.passed for row in rows)} of {len(rows)}" if several else "",
        verdict=(failure_of(best) if best.outcome is JobOutcome.FAILED else str(best.outcome)).replace("_", " "),
        tones={over: best.speedup[over].tone for over in BASELINES if over in best.speedup},
        money=money_text(dollars, sum(known)) if tokens else "",
        attempts=sum(row.attempts for row in rows),
        tokens=tokens,
        dollars=dollars,
        seconds=sum(row.seconds for row in rows),
    )


def _link(row: Row, folder: Path) -> str | None:
    """The page of its run, or the judge's answer about a kernel of somebody's."""
    link = f"runs/{row.run}/{REPORT_NAME}" if row.run else f"evaluations/{row.key}.json"
    return quote(link, errors="surrogateescape") if "\0" not in link and (folder / link).is_file() else None


def _settings(suite: Suite) -> Iterator[tuple[str, str]]:
    parts = (suite.specification.settings, suite.specification.check)
    for part in parts:
        yield from told_facts(to_json(part) if part else {})
