"""Events in words: one short line each, for plain terminals, for the live view and for log.txt."""

from __future__ import annotations

import math

from tilesmith.records import (
    Analysis,
    AnalysisEvent,
    Attempt,
    AttemptEvent,
    CallEvent,
    Candidate,
    ConfirmationEvent,
    DecisionEvent,
    Event,
    FinishedEvent,
    LostCallEvent,
    RefusalEvent,
    Reply,
    StopReason,
    Survey,
    SurveyEvent,
    Usage,
)

SHORTEST_LAUNCH_MS = 0.002
LONGEST = 240
"""Characters of somebody else's text in a line."""
LONGEST_ENDING = 2000
"""Characters of why a run ended, or of a cell, which is worth more than one line of a terminal."""
_ENDINGS = {
    StopReason.END: "",
    StopReason.LENGTH: "cut off",
    StopReason.DECLINED: "declined",
    StopReason.KEEPS_PYTORCH: "declined",
}


def describe_event(event: Event) -> str:
    """The event in one line, whatever its texts hold."""
    if isinstance(event, FinishedEvent):
        return f"finished  {one_line(event.why, LONGEST_ENDING)}"
    return join_parts(*_parts(event))


def join_parts(*parts: str) -> str:
    """The parts there are, in one line."""
    return "  ".join(part for part in map(one_line, parts) if part)


def one_line(text: str, limit: int = LONGEST) -> str:
    """Unbroken, not too long, and free of what would steer a terminal."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def _parts(event: Event) -> tuple[str, ...]:
    match event:
        case SurveyEvent(survey=survey):
            return "survey", survey.task, machine_text(survey), floor_text(survey), mode_text(survey)
        case CallEvent(reply=reply):
            return f"call {event.number}", event.phase, *_reply_parts(reply)
        case LostCallEvent(usage=usage):
            return (
                f"call {event.number}",
                event.phase,
                tokens_text(usage),
                money_text(usage.dollars),
                "no whole reply",
            )
        case AnalysisEvent(analysis=None):
            return f"analysis of kernel {event.base}", f"of no use: {event.problem or 'no reason given'}"
        case AnalysisEvent(analysis=Analysis() as analysis):
            return f"analysis of kernel {event.base}", analysis.bottleneck, plan_text(analysis)
        case RefusalEvent():
            return f"call {event.call}", event.phase, f"refused: {event.problem}"
        case AttemptEvent(attempt=attempt):
            verdict = attempt.evaluation.verdict
            name = f"kernel {attempt.candidate.number}"
            return name, phase_text(attempt.candidate), verdict, score_text(attempt.score), outcome_text(attempt)
        case DecisionEvent():
            return "decision", f"{event.about}: {event.why}"
        case ConfirmationEvent():
            return f"confirm kernel {event.candidate}", confirmation_text(event), f"{event.seconds:.1f} s"
    raise AssertionError(f"an event without words: {event}")


def _reply_parts(reply: Reply) -> tuple[str, ...]:
    spent = (tokens_text(reply.usage), money_text(reply.usage.dollars)) if reply.usage.tokens else (reply.author,)
    retried = f"{reply.retries} {'retry' if reply.retries == 1 else 'retries'}" if reply.retries else ""
    return *spent, f"{reply.seconds:.1f} s", retried, reply.note, _ENDINGS[reply.stop]


def machine_text(survey: Survey) -> str:
    gpu = survey.gpu.name if survey.gpu else None
    if survey.device == "cuda":
        return str(gpu or survey.environment.get("device") or "cuda")
    return f"no GPU here; compiled for {gpu}" if gpu else "no GPU here"


def floor_text(survey: Survey) -> str:
    """The least time the task can take there."""
    if survey.roofline is None:
        return ""
    if survey.roofline.floor_ms < SHORTEST_LAUNCH_MS:
        return "so little work that a launch takes longer"
    return f"at least {survey.roofline.floor_ms:.4g} ms, bound by {survey.roofline.bound}"


def mode_text(survey: Survey) -> str:
    """Told when it is not the mode a module is made in: dropout, for one, does nothing then."""
    return "judged in eval mode" if survey.graph is not None and not survey.graph.training else ""


def plan_text(analysis: Analysis) -> str:
    return f"to do: {analysis.method} ({analysis.complexity}{_gain_text(analysis.expected_speedup)})"


def _gain_text(expected: float | None) -> str:
    if expected is None:
        return ""
    return f", {expected:g}x expected" if expected > 1 else ", no further gain expected"


def confirmation_text(confirmed: ConfirmationEvent) -> str:
    evaluation = confirmed.evaluation
    if not evaluation.passed:
        return f"failed: {evaluation.verdict}: {evaluation.reason}"
    told = f"{evaluation.verdict} {score_text(confirmed.score)}".rstrip()
    return "; ".join([told, *(note for note in evaluation.notes if note.startswith("not sanitized"))])


def phase_text(candidate: Candidate) -> str:
    return f"{candidate.phase} {candidate.stage}" if candidate.stage else str(candidate.phase)


def outcome_text(attempt: Attempt) -> str:
    """Kept or dropped and why, without saying the verdict twice."""
    why = attempt.why.removeprefix(f"{attempt.evaluation.verdict}: ")
    return f"{'kept' if attempt.kept else 'dropped'}: {why}"


def score_text(score: float | None) -> str:
    if score is None:
        return ""
    return f"{score:.2f}x" if score >= 0.1 else f"{score:.3f}x"


def tokens_text(usage: Usage) -> str:
    return f"{usage.input_tokens:,} + {usage.output_tokens:,} tokens"


def money_text(dollars: float | None, known: float = 0.0) -> str:
    """A sum with an unknown part says so and keeps the known part."""
    if dollars is None:
        return f"at least {money_text(known)}" if known else "price unknown"
    return f"${dollars:.2f}" if dollars >= 10 or not dollars else f"${dollars:.4f}"


def count_text(count: int, noun: str) -> str:
    """1 line, 2,000 lines."""
    return f"{count:,} {noun}{'s' if count != 1 else ''}"


def clock_text(seconds: float) -> str:
    """1:05, or 2:01:05."""
    if not math.isfinite(seconds):  # of a journal that somebody changed
        return "unknown"
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
