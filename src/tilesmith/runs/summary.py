"""A run in summary: its events folded into what happened, what is best and what it cost.

Pure, and one event at a time: the live view folds as events come, `tilesmith runs show` folds a whole journal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from tilesmith.records import (
    AnalysisEvent,
    Attempt,
    AttemptEvent,
    CallEvent,
    ConfirmationEvent,
    DecisionEvent,
    Event,
    FinishedEvent,
    LostCallEvent,
    Phase,
    RefusalEvent,
    Reply,
    Survey,
    SurveyEvent,
    Usage,
)

E = TypeVar("E", bound=Event)


@dataclass(frozen=True)
class CallCosts:
    """The sum of some calls."""

    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    """Its dollars are null as soon as the price of one call is unknown."""
    known_dollars: float = 0.0
    """What the calls of known price cost, whatever the others did."""
    seconds: float = 0.0

    def after(self, reply: Reply) -> CallCosts:
        usage = reply.usage
        known = self.known_dollars + (usage.dollars or 0.0)
        return CallCosts(self.calls + 1, self.usage + usage, known, self.seconds + reply.seconds)


@dataclass(frozen=True)
class TreeEvent:
    """One event in its place in the tree of attempts."""

    event: Event
    under: int | None
    """Number of the candidate it is about or comes from; null at the root."""


@dataclass(frozen=True)
class RunSummary:
    """Everything that has happened in a run so far."""

    survey: Survey | None = None
    steps: tuple[TreeEvent, ...] = ()
    """All but the survey, the calls and the end, in order."""
    attempts: tuple[Attempt, ...] = ()
    calls_made: tuple[CallEvent, ...] = ()
    spent: CallCosts = CallCosts()
    costs_by_phase: Mapping[Phase, CallCosts] = field(default_factory=dict)
    verdict_seconds: float = 0.0
    finished: FinishedEvent | None = None

    def after(self, event: Event) -> RunSummary:
        """The summary with one more event."""
        match event:
            case SurveyEvent():
                return replace(self, survey=event.survey)
            case CallEvent():
                return self._after_call(event)
            case LostCallEvent():
                return self._spending(event.phase, Reply("", "", usage=event.usage))
            case FinishedEvent():
                return replace(self, finished=event)
        told = replace(self, steps=(*self.steps, TreeEvent(event, self._place_of(event))))
        match event:
            case AttemptEvent(attempt=attempt):
                seconds = self.verdict_seconds + attempt.seconds
                return replace(told, attempts=(*self.attempts, attempt), verdict_seconds=seconds)
            case ConfirmationEvent():
                return replace(told, verdict_seconds=self.verdict_seconds + event.seconds)
        return told

    @property
    def analyses(self) -> tuple[AnalysisEvent, ...]:
        return self._events_of(AnalysisEvent)

    @property
    def refusals(self) -> tuple[RefusalEvent, ...]:
        return self._events_of(RefusalEvent)

    @property
    def decisions(self) -> tuple[DecisionEvent, ...]:
        return self._events_of(DecisionEvent)

    @property
    def confirmations(self) -> tuple[ConfirmationEvent, ...]:
        return self._events_of(ConfirmationEvent)

    @property
    def calls(self) -> int:
        return self.spent.calls

    @property
    def usage(self) -> Usage:
        return self.spent.usage

    @property
    def usage_by_phase(self) -> dict[Phase, Usage]:
        return {phase: spent.usage for phase, spent in self.costs_by_phase.items()}

    @property
    def busy_seconds(self) -> float:
        """Time of calls and verdicts, seeds counted once: they are asked for at the same time."""
        seeds = [one.reply.seconds for one in self.calls_made if one.phase is Phase.SEED]
        return self.spent.seconds - sum(seeds) + max(seeds, default=0.0) + self.verdict_seconds

    @property
    def best(self) -> Attempt | None:
        """The winner of a finished run; before that, the last one kept whose confirmation has not failed."""
        if self.finished is not None:
            return self.attempt(self.finished.best)
        failed = {one.candidate for one in self.confirmations if not one.evaluation.passed}
        kept = (one for one in reversed(self.attempts) if one.kept and one.candidate.number not in failed)
        return next(kept, None)

    @property
    def score(self) -> float | None:
        """Of the best, as it was measured last."""
        if self.finished is not None:
            return self.finished.score
        return self.best.score if self.best else None

    def attempt(self, number: int | None) -> Attempt | None:
        return next((one for one in self.attempts if one.candidate.number == number), None)

    def children(self, number: int | None) -> tuple[TreeEvent, ...]:
        """What came of a candidate, in order; of none: what stands at the root."""
        return tuple(step for step in self.steps if step.under == number)

    def _events_of(self, kind: type[E]) -> tuple[E, ...]:
        return tuple(step.event for step in self.steps if isinstance(step.event, kind))

    def _after_call(self, calls_made: CallEvent) -> RunSummary:
        spent = self._spending(calls_made.phase, calls_made.reply)
        return replace(spent, calls_made=(*self.calls_made, calls_made))

    def _spending(self, phase: Phase, reply: Reply) -> RunSummary:
        costs = self.costs_by_phase.get(phase, CallCosts()).after(reply)
        return replace(self, spent=self.spent.after(reply), costs_by_phase={**self.costs_by_phase, phase: costs})

    def _place_of(self, event: Event) -> int | None:
        """A candidate that is known, so that nothing hangs in the air."""
        place = self._named_place(event)
        return place if self.attempt(place) else None

    def _named_place(self, event: Event) -> int | None:
        match event:
            case AttemptEvent(attempt=attempt):
                return attempt.candidate.parent
            case AnalysisEvent(base=about) | RefusalEvent(base=about) | ConfirmationEvent(candidate=about):
                return about
            case DecisionEvent(about=about):
                return self._place_of_decision(about)
        return None

    def _place_of_decision(self, about: str) -> int | None:
        """Decisions name what they are about in words: `kernel 3`, `stage grid`, `fallback in round 1`."""
        first, _, rest = about.partition(" ")
        if first == "kernel" and rest.isdecimal():
            return int(rest)
        if first in ("fallback", "analysis"):
            return self._last_analyzed()
        return self._best_number() if first == "stage" else None

    def _last_analyzed(self) -> int | None:
        return self.analyses[-1].base if self.analyses else self._best_number()

    def _best_number(self) -> int | None:
        return self.best.candidate.number if self.best else None


def summarize(events: Iterable[Event]) -> RunSummary:
    """The summary of these events."""
    summary = RunSummary()
    for event in events:
        summary = summary.after(event)
    return summary
