"""The present of a run in one picture: phase, what is going on, the last attempts, the best, the bill."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import ConsoleDimensions, Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from tilesmith.forge.recorded_effects import Activity
from tilesmith.forge.settings import ForgeSettings
from tilesmith.records import (
    AnalysisEvent,
    Attempt,
    AttemptEvent,
    CallEvent,
    ConfirmationEvent,
    Event,
    FinishedEvent,
    RefusalEvent,
)
from tilesmith.runs.event_text import (
    clock_text,
    join_parts,
    money_text,
    one_line,
    outcome_text,
    phase_text,
    score_text,
)
from tilesmith.runs.summary import RunSummary

MOST_ATTEMPTS = 10


@dataclass(frozen=True)
class OngoingActivity:
    """Something that is going on, and since when."""

    activity: Activity
    began: float


@dataclass(frozen=True)
class ProgressSnapshot:
    """All a frame is drawn from."""

    summary: RunSummary
    ongoing: tuple[OngoingActivity, ...]
    now: float
    elapsed: float


def draw_frame(snapshot: ProgressSnapshot, settings: ForgeSettings, size: ConsoleDimensions) -> RenderableType:
    """No taller than the terminal: the attempts give way first."""
    ongoing = [_going(one, snapshot.now) for one in snapshot.ongoing]
    room = min(MOST_ATTEMPTS, size.height - len(ongoing) - 5)
    parts: list[RenderableType] = [Rule(style="dim"), _headline(snapshot, settings), *ongoing]
    attempts = snapshot.summary.attempts[-room:] if room > 0 else ()
    if attempts:
        parts.append(_attempts(attempts, snapshot.summary.best))
    return Group(*parts, _cost_line(snapshot.summary, settings))


def event_style(event: Event) -> str:
    """The color of a finished line."""
    match event:
        case AttemptEvent(attempt=attempt):
            return "green" if attempt.kept else "" if attempt.evaluation.passed else "red"
        case ConfirmationEvent(evaluation=evaluation):
            return "green" if evaluation.passed else "red"
        case FinishedEvent(best=best):
            return "bold green" if best is not None else "bold red"
        case CallEvent():
            return "dim"
        case RefusalEvent() | AnalysisEvent(analysis=None):
            return "yellow"
    return ""


def _headline(snapshot: ProgressSnapshot, settings: ForgeSettings) -> Text:
    task = snapshot.summary.survey.task if snapshot.summary.survey else "starting"
    parts = [task, _phase(snapshot), f"{clock_text(snapshot.elapsed)} elapsed"]
    if settings.max_minutes is not None:
        running = max((snapshot.now - one.began for one in snapshot.ongoing), default=0.0)
        left = settings.max_minutes * 60 - snapshot.summary.busy_seconds - running
        parts.append(f"about {clock_text(left)} left")
    return _clipped("  ·  ".join(one_line(part) for part in parts if part), "bold")


def _phase(snapshot: ProgressSnapshot) -> str:
    """Of the newest thing going on; between two things, of the last event."""
    if snapshot.ongoing:
        activity = snapshot.ongoing[-1].activity
        return activity.what if activity.what in ("survey", "confirm") else activity.phase
    if snapshot.summary.finished:
        return "finished"
    return str(snapshot.summary.calls_made[-1].phase) if snapshot.summary.calls_made else ""


def _going(ongoing: OngoingActivity, now: float) -> Text:
    activity, seconds = ongoing.activity, f"{max(0.0, now - ongoing.began):.0f} s"
    if activity.what == "call":
        heard = f"{activity.characters:,} characters" if activity.characters else "waiting"
        told = join_parts(f"call {activity.number}", f"{activity.phase} {activity.detail}", heard, seconds)
    elif activity.what == "survey":
        told = join_parts("survey of the task", activity.detail, seconds)
    else:
        told = join_parts(f"{activity.what} kernel {activity.number}", activity.phase, activity.detail, seconds)
    return _clipped(f"  {told}", "cyan")


def _attempts(attempts: tuple[Attempt, ...], best: Attempt | None) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    for _ in ("phase", "verdict"):
        table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()  # gives way where it is narrow
    for attempt in attempts:
        passed = attempt.evaluation.passed
        verdict = Text(attempt.evaluation.verdict, style="green" if passed else "red")
        cells = (f"  {attempt.candidate.number}", phase_text(attempt.candidate), verdict, score_text(attempt.score))
        style = "bold" if attempt is best else "" if attempt.kept else "dim"
        table.add_row(*cells, _clipped(one_line(outcome_text(attempt)), ""), style=style)
    return table


def _cost_line(summary: RunSummary, settings: ForgeSettings) -> Text:
    return _clipped("  ·  ".join(_cost_parts(summary, settings)), "bold")


def _cost_parts(summary: RunSummary, settings: ForgeSettings) -> Iterator[str]:
    if summary.best is None:
        yield "no kernel has passed yet"
    else:
        yield f"best: kernel {summary.best.candidate.number} {score_text(summary.score) or '(not timed)'}"
    if summary.usage.tokens or settings.max_tokens is not None:
        limit = f" of {settings.max_tokens:,}" if settings.max_tokens is not None else ""
        yield f"{summary.usage.tokens:,}{limit} tokens"
    if summary.usage.tokens or settings.max_cost is not None:
        limit = f" of ${settings.max_cost:g}" if settings.max_cost is not None else ""
        yield f"{money_text(summary.usage.dollars, summary.spent.known_dollars)}{limit}"


def _clipped(line: str, style: str) -> Text:
    return Text(line, style=style, no_wrap=True, overflow="ellipsis")
