"""What happens in a run: each event is one line of events.jsonl, told apart by its `event` field."""

from __future__ import annotations

from dataclasses import dataclass

from tilesmith.records.evaluation import Evaluation
from tilesmith.records.forge_run import Analysis, Attempt, Phase, Reply, Survey, Usage
from tilesmith.records.numbers import Amount


@dataclass(frozen=True)
class SurveyEvent:
    survey: Survey
    event: str = "survey"


@dataclass(frozen=True)
class CallEvent:
    """A request was answered. Written the moment the reply is whole."""

    number: int
    phase: Phase
    prompt_sha256: str
    reply: Reply
    event: str = "call"


@dataclass(frozen=True)
class LostCallEvent:
    """A request got no whole answer, and what had come of it is paid for. The run stops and can be resumed."""

    number: int
    phase: Phase
    time: int
    """The first, second, ... time this request was lost."""
    usage: Usage
    problem: str
    event: str = "lost"


@dataclass(frozen=True)
class AnalysisEvent:
    """What was made of the reply to an analyze request; no analysis when it could not be used."""

    call: int
    base: int
    analysis: Analysis | None
    problem: str | None = None
    event: str = "analysis"


@dataclass(frozen=True)
class RefusalEvent:
    """A reply without a kernel in it, or with one that could not be judged."""

    call: int
    phase: Phase
    problem: str
    base: int | None = None
    """Number of the candidate it was to improve or repair."""
    event: str = "refused"


@dataclass(frozen=True)
class AttemptEvent:
    attempt: Attempt
    event: str = "attempt"


@dataclass(frozen=True)
class DecisionEvent:
    """Something the forge decided by itself: a stage left out, a fallback taken, a reason to stop."""

    about: str
    why: str
    event: str = "decision"


@dataclass(frozen=True)
class ConfirmationEvent:
    """The winner, judged once more by a fresh process under a seed it has not seen."""

    candidate: int
    evaluation: Evaluation
    score: float | None
    seconds: Amount
    event: str = "confirmed"


@dataclass(frozen=True)
class FinishedEvent:
    """The end of a run."""

    best: int | None
    """Number of the winning candidate; null when nothing passed."""
    faster: bool | None
    """Whether the winner beats every baseline; null where nothing was timed."""
    score: float | None
    why: str
    stopped_by: str | None = None
    """The limit or target that ended it before it was through."""
    keeps_pytorch: bool = False
    """The playbook has no kernel for the task, or none that is as fast as PyTorch."""
    event: str = "finished"


Event = (
    SurveyEvent
    | CallEvent
    | LostCallEvent
    | AnalysisEvent
    | RefusalEvent
    | AttemptEvent
    | DecisionEvent
    | ConfirmationEvent
    | FinishedEvent
)
EVENTS: dict[str, type[Event]] = {
    kind.event: kind
    for kind in (
        SurveyEvent,
        CallEvent,
        LostCallEvent,
        AnalysisEvent,
        RefusalEvent,
        AttemptEvent,
        DecisionEvent,
        ConfirmationEvent,
        FinishedEvent,
    )
}
