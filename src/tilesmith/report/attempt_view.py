"""Attempts and the tree they form, for the page of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

from tilesmith.records import (
    Analysis,
    AnalysisEvent,
    Attempt,
    AttemptEvent,
    ConfirmationEvent,
    DecisionEvent,
    RefusalEvent,
)
from tilesmith.report.number_text import power
from tilesmith.report.source_text import LONGEST_DIFF, ShownText, shown_diff, shown_source
from tilesmith.report.view import AttemptView, StoryLine
from tilesmith.runs.event_text import confirmation_text, outcome_text, phase_text, plan_text, score_text
from tilesmith.runs.summary import RunSummary, TreeEvent

ROOM = 1_500_000
"""Characters of sources and diffs of all attempts together."""
LEAST = 2_000
DEEPEST = 12
"""Steps by which a line of the tree is moved to the right at most."""


def attempt_views(summary: RunSummary, files: Set[str]) -> tuple[AttemptView, ...]:
    limit = min(LONGEST_DIFF, max(LEAST, ROOM // max(1, len(summary.attempts))))
    by_number = {one.candidate.number: one for one in summary.attempts}
    return tuple(_attempt(one, by_number, summary.best, files, limit) for one in summary.attempts)


def _attempt(
    attempt: Attempt, others: Mapping[int, Attempt], best: Attempt | None, files: Set[str], limit: int
) -> AttemptView:
    candidate, judged = attempt.candidate, attempt.evaluation
    allowed = judged.environment.get("k")
    return AttemptView(
        number=candidate.number,
        phase=phase_text(candidate),
        parent=candidate.parent if candidate.parent in others else None,
        verdict=str(judged.verdict).replace("_", " "),
        passed=judged.passed,
        kept=attempt.kept,
        best=attempt is best,
        score=attempt.score,
        score_text=score_text(attempt.score).replace("x", "×"),
        error_ratio=judged.errors.ratio if judged.errors else None,
        allowed_ratio=allowed if isinstance(allowed, int | float) else None,
        outcome=outcome_text(attempt),
        reason=judged.reason,
        facts=tuple(_facts(attempt)),
        findings=judged.findings,
        resources=judged.resources,
        text=_text(attempt, others.get(candidate.parent or 0), limit),
        file=kernel_file(candidate.number, files),
    )


def kernel_file(number: int, files: Set[str]) -> str | None:
    name = f"kernels/{number:04}.py"
    return name if name in files else None


def _text(attempt: Attempt, parent: Attempt | None, limit: int) -> ShownText:
    candidate = attempt.candidate
    if parent is None:
        return shown_source(candidate.source, limit=limit)
    return shown_diff(parent.candidate.source, candidate.source, limit)


def _facts(attempt: Attempt) -> Iterator[tuple[str, str]]:
    judged = attempt.evaluation
    if attempt.candidate.author:
        yield "by", attempt.candidate.author
    if attempt.same_as is not None:
        yield "the same as", f"kernel {attempt.same_as}"
    if attempt.expected_speedup is not None:
        yield "expected", f"{attempt.expected_speedup:g}×"
    if judged.kernel_type != "unknown":
        yield "kind", f"{judged.kernel_type.replace('_', ' ')}, {judged.complexity}"
    if judged.timing is not None:
        yield "time", f"{judged.timing.candidate_ms.p50:.4g} ms"
    if judged.errors is not None:
        found, own = (power(one) for one in (judged.errors.relative, judged.errors.eager_relative))
        yield "error", f"{found} relative to float64; PyTorch's own {own}"
    if judged.launches is not None:
        yield "launches", str(judged.launches)
    yield "judged in", f"{attempt.seconds:.1f} s"


def story_lines(summary: RunSummary) -> tuple[StoryLine, ...]:
    """Every step, each under the candidate it comes from. A stack, because a chain of repairs may be long."""
    under: dict[int | None, list[TreeEvent]] = {}
    for step in summary.steps:
        under.setdefault(step.under, []).append(step)
    waiting = [(step, 0) for step in reversed(under.pop(None, []))]
    leading = _leading(summary)
    lines = []
    while waiting:
        step, depth = waiting.pop()
        line = _line(step, min(depth, DEEPEST), summary.best)
        lines.append(replace(line, leads=(step.under if line.attempt is None else line.attempt) in leading))
        if isinstance(step.event, AttemptEvent):
            inside = under.pop(step.event.attempt.candidate.number, [])
            waiting += [(one, depth + 1) for one in reversed(inside)]
    return tuple(lines)


def _leading(summary: RunSummary) -> set[int | None]:
    """The best kernel, those it comes from, and null for what belongs to none."""
    parents = {one.candidate.number: one.candidate.parent for one in summary.attempts}
    found: set[int | None] = {None}
    number = summary.best.candidate.number if summary.best else None
    while number not in found:
        found.add(number)
        number = parents.get(number) if number is not None else None
    return found


def _line(step: TreeEvent, depth: int, best: Attempt | None) -> StoryLine:
    match step.event:
        case AttemptEvent(attempt=attempt):
            passed = attempt.evaluation.passed
            tone = "good" if attempt is best else "plain" if passed else "bad"
            verdict = str(attempt.evaluation.verdict).replace("_", " ")
            label = f"{phase_text(attempt.candidate)} {verdict}{', best' if attempt is best else ''}"
            told = outcome_text(attempt).partition("\n")[0]  # the rest is with the attempt
            return StoryLine(depth, tone, label, told, attempt.candidate.number)
        case AnalysisEvent(analysis=Analysis() as analysis):
            told = f"{analysis.bottleneck.rstrip('. ')}; {plan_text(analysis)}. {analysis.plan}"
            return StoryLine(depth, "plain", "analysis", told)
        case AnalysisEvent(problem=problem):
            return StoryLine(depth, "plain", "analysis of no use", problem or "no reason given")
        case RefusalEvent(phase=phase, problem=problem):
            return StoryLine(depth, "plain", f"{phase} refused", problem)
        case ConfirmationEvent() as confirmed:
            tone = "good" if confirmed.evaluation.passed else "bad"
            return StoryLine(depth, tone, "confirmation", confirmation_text(confirmed))
        case DecisionEvent(about=about, why=why):
            return StoryLine(depth, "plain", about, why)
    raise AssertionError(f"an event without a line: {step.event}")
