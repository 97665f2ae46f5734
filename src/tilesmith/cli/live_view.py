"""The present of a run in one picture: phase, what is going on, the last attempts, the best, the bill."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import ConsoleDimensions, Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from tilesmith.forge.dials import Dials
from tilesmith.forge.workshop import Doing
from tilesmith.records import Analysed, Attempt, Attempted, Called, Confirmed, Event, Finished, Refused
from tilesmith.runs.lines import clock_text, money_text, one_line, outcome_text, phase_text, score_text, spaced
from tilesmith.runs.story import Story

MOST_ATTEMPTS = 10


@dataclass(frozen=True)
class Going:
    """Something that is going on, and since when."""

    doing: Doing
    began: float


@dataclass(frozen=True)
class Moment:
    """All a frame is drawn from."""

    story: Story
    going: tuple[Going, ...]
    now: float
    elapsed: float


def picture(moment: Moment, dials: Dials, size: ConsoleDimensions) -> RenderableType:
    """No taller than the terminal: the attempts give way first."""
    going = [_going(one, moment.now) for one in moment.going]
    room = min(MOST_ATTEMPTS, size.height - len(going) - 5)
    parts: list[RenderableType] = [Rule(style="dim"), _headline(moment, dials), *going]
    attempts = moment.story.attempts[-room:] if room > 0 else ()
    if attempts:
        parts.append(_attempts(attempts, moment.story.best))
    return Group(*parts, _bill(moment.story, dials))


def style_for(event: Event) -> str:
    """The colour of a finished line."""
    match event:
        case Attempted(attempt=attempt):
            return "green" if attempt.kept else "" if attempt.evaluation.passed else "red"
        case Confirmed(evaluation=evaluation):
            return "green" if evaluation.passed else "red"
        case Finished(best=best):
            return "bold green" if best is not None else "bold red"
        case Called():
            return "dim"
        case Refused() | Analysed(analysis=None):
            return "yellow"
    return ""


def _headline(moment: Moment, dials: Dials) -> Text:
    task = moment.story.survey.task if moment.story.survey else "starting"
    parts = [task, _phase(moment), f"{clock_text(moment.elapsed)} elapsed"]
    if dials.max_minutes is not None:
        running = max((moment.now - one.began for one in moment.going), default=0.0)
        left = dials.max_minutes * 60 - moment.story.busy_seconds - running
        parts.append(f"about {clock_text(left)} left")
    return _clipped("  ·  ".join(one_line(part) for part in parts if part), "bold")


def _phase(moment: Moment) -> str:
    """Of the newest thing going on; between two things, of the last event."""
    if moment.going:
        doing = moment.going[-1].doing
        return doing.what if doing.what in ("survey", "confirm") else doing.phase
    if moment.story.finished:
        return "finished"
    return str(moment.story.called[-1].phase) if moment.story.called else ""


def _going(going: Going, now: float) -> Text:
    doing, seconds = going.doing, f"{max(0.0, now - going.began):.0f} s"
    if doing.what == "call":
        heard = f"{doing.characters:,} characters" if doing.characters else "waiting"
        told = spaced(f"call {doing.number}", f"{doing.phase} {doing.detail}", heard, seconds)
    elif doing.what == "survey":
        told = spaced("survey of the task", doing.detail, seconds)
    else:
        told = spaced(f"{doing.what} kernel {doing.number}", doing.phase, doing.detail, seconds)
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


def _bill(story: Story, dials: Dials) -> Text:
    return _clipped("  ·  ".join(_sums(story, dials)), "bold")


def _sums(story: Story, dials: Dials) -> Iterator[str]:
    if story.best is None:
        yield "no kernel has passed yet"
    else:
        yield f"best: kernel {story.best.candidate.number} {score_text(story.score) or '(not timed)'}"
    if story.usage.tokens or dials.max_tokens is not None:
        limit = f" of {dials.max_tokens:,}" if dials.max_tokens is not None else ""
        yield f"{story.usage.tokens:,}{limit} tokens"
    if story.usage.tokens or dials.max_cost is not None:
        limit = f" of ${dials.max_cost:g}" if dials.max_cost is not None else ""
        yield f"{money_text(story.usage.dollars, story.spent.known_dollars)}{limit}"


def _clipped(line: str, style: str) -> Text:
    return Text(line, style=style, no_wrap=True, overflow="ellipsis")
