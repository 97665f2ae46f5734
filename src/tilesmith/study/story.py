"""One run as a case study in Markdown: the seed, the analysis, the change, the gain, and the stages left out.

A pure function of the run's events: the same journal tells the same story.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from itertools import pairwise

from tilesmith.records import (
    Analysis,
    AnalysisEvent,
    Attempt,
    DecisionEvent,
    Evaluation,
    Event,
    Phase,
    Severity,
)
from tilesmith.runs.compared.facts import best_evaluation
from tilesmith.runs.event_text import clock_text, count_text, machine_text, money_text, phase_text, score_text
from tilesmith.runs.summary import RunSummary, summarize
from tilesmith.study.markdown import bullets, fenced, plain, table

MOST_DIFF_LINES = 60
"""Of one change; the rest is counted."""


def tell_story(events: Iterable[Event]) -> str:
    """The whole case study."""
    summary = summarize(events)
    task = summary.survey.task if summary.survey else "a task that was not surveyed"
    parts = [f"# {plain(task)}: {headline(summary)}", _opening(summary)]
    for title, text in (
        ("What the seeds did", _seeds(summary)),
        ("What the analysis said", _analyses(summary)),
        ("What changed", _changes(summary)),
        ("What it gained", _gains(summary)),
        ("Stages", _stages(summary)),
        ("What it cost", _costs(summary)),
    ):
        parts += [f"## {title}", text]
    return "\n\n".join(parts) + "\n"


def _yet(summary: RunSummary) -> str:
    """For a run that goes on, or can be resumed."""
    return "" if summary.finished else " yet"


def headline(summary: RunSummary) -> str:
    """What kind of story it is, in a few words."""
    seed, best = best_seed(summary), summary.best
    if best is None:
        keeps_pytorch = summary.finished is not None and summary.finished.keeps_pytorch
        return "PyTorch is kept" if keeps_pytorch else f"no kernel passed{_yet(summary)}"
    if best.score is None or summary.score is None:
        return "a right kernel, not timed"
    if seed is None or seed.score is None:
        return f"no seed passed; {score_text(summary.score)} in the end"
    if best is seed:
        return f"a {'good' if seed.score >= 1 else 'slow'} seed that nothing improved, {score_text(summary.score)}"
    told = "a bad seed rescued" if seed.score < 1 <= summary.score else "a seed improved"
    return f"{told}, {score_text(seed.score)} to {score_text(summary.score)}"


def best_seed(summary: RunSummary) -> Attempt | None:
    """The fastest that passed; of seeds without a time the last that was kept."""
    seeds = [one for one in summary.attempts if one.candidate.phase is Phase.SEED and one.evaluation.passed]
    return max(seeds, key=lambda one: (one.score or 0.0, one.kept, one.candidate.number), default=None)


def lineage(summary: RunSummary) -> list[Attempt]:
    """From the seed to the best kernel, each the parent of the next."""
    line, attempt = [], summary.best
    while attempt is not None:
        line.append(attempt)
        attempt = summary.attempt(attempt.candidate.parent)
    return line[::-1]


def _opening(summary: RunSummary) -> str:
    survey = summary.survey
    writers = dict.fromkeys(one.candidate.author for one in summary.attempts if one.candidate.author)
    lines = [f"Machine: {plain(machine_text(survey))}."] if survey else []
    lines += [f"Kernels by {plain(', '.join(writers))}."] if writers else []
    why = summary.finished.why if summary.finished else "the run has not ended"
    lines += [f"{plain(why[:1].upper() + why[1:])}."]
    return " ".join(lines)


def _seeds(summary: RunSummary) -> str:
    seeds = [one for one in summary.attempts if one.candidate.phase is Phase.SEED]
    lines = [f"Kernel {one.candidate.number}: {_told(one)}" for one in seeds]
    refused = (one for one in summary.refusals if one.phase is Phase.SEED)
    lines += [f"Call {one.call} brought no kernel: {plain(one.problem)}" for one in refused]
    return bullets(lines) or "No seed was written."


def _told(attempt: Attempt) -> str:
    """A kernel in a line: its verdict, what it is, how fast, and what a reading found."""
    evaluation = attempt.evaluation
    told = [f"{evaluation.verdict}{f', {score_text(attempt.score)}' if attempt.score is not None else ''}"]
    told += [_shape(evaluation)] if evaluation.passed else [plain(evaluation.reason)]
    found = {one.id: one for one in evaluation.findings if one.severity is not Severity.INFO}
    told += [f"found {name}: {plain(one.message)}" for name, one in found.items()]
    return "; ".join(part for part in told if part) + "."


def _shape(evaluation: Evaluation) -> str:
    parts = [evaluation.kernel_type.replace("_", " "), f"complexity {evaluation.complexity}"]
    if evaluation.launches is not None:
        parts.append(f"{evaluation.launches} {'launch' if evaluation.launches == 1 else 'launches'}")
    if evaluation.timing is not None:
        parts.append(f"{evaluation.timing.candidate_ms.p50:.4g} ms")
    return ", ".join(parts)


def _analyses(summary: RunSummary) -> str:
    return "\n\n".join(map(_analysis, summary.analyses)) or "No analysis was asked for."


def _analysis(event: AnalysisEvent) -> str:
    found = event.analysis
    if found is None:
        return f"Of kernel {event.base}: nothing of use ({plain(event.problem or 'no reason given')})."
    expected = "not said" if found.expected_speedup is None else f"{found.expected_speedup:g}x"
    return f"Of kernel {event.base}:\n\n" + bullets(_analysis_lines(found, expected))


def _analysis_lines(found: Analysis, expected: str) -> Iterator[str]:
    yield f"Bottleneck: {plain(found.bottleneck)}"
    yield f"Method: {plain(found.method)}"
    yield f"Plan: {plain(found.plan)}"
    yield f"Expected gain: {expected}, complexity {plain(found.complexity)}"
    if found.fallback:
        yield f"If that is too hard: {plain(found.fallback)}"


def _changes(summary: RunSummary) -> str:
    line = lineage(summary)
    if not line:
        return f"No kernel passed{_yet(summary)}, so there is nothing to follow."
    if len(line) == 1:
        return f"Nothing: the answer is kernel {line[0].candidate.number} as it was first written."
    steps = [_change(before, after) for before, after in pairwise(line)]
    return "\n\n".join([*steps, *_predictions(line)])


def _change(before: Attempt, after: Attempt) -> str:
    """One step from a kernel to the next, with the text that changed."""
    old, new = before.candidate, after.candidate
    diff = list(difflib.unified_diff(old.source.splitlines(), new.source.splitlines(), lineterm="", n=1))[2:]
    added, removed = (sum(line.startswith(sign) for line in diff) for sign in "+-")
    change = f"{count_text(added, 'line')} in, {removed} out"
    told = [f"**Kernel {old.number} to kernel {new.number}** ({phase_text(new)}): {change}."]
    told += [f"Before: {_told(before)} After: {_told(after)}"]
    hidden = len(diff) - MOST_DIFF_LINES
    shown = "\n".join(diff[:MOST_DIFF_LINES] + ([f"... {hidden} more lines"] if hidden > 0 else []))
    return f"{' '.join(told)}\n\n{fenced('diff', shown)}" if diff else " ".join(told)


def _predictions(line: list[Attempt]) -> Iterator[str]:
    """What an analysis expected of a kernel, against what came of it once it passed."""
    for place, attempt in enumerate(line):
        before = next((one.score for one in reversed(line[:place]) if one.score), None)
        after = next((one.score for one in line[place:] if one.score), None)
        if attempt.expected_speedup is not None and before and after:
            yield f"The analysis expected {attempt.expected_speedup:g}x more; it became {after / before:.2f}x."


def _gains(summary: RunSummary) -> str:
    rows = [
        (str(one.candidate.number), phase_text(one.candidate), score_text(one.score), _verdict(one), plain(one.why))
        for one in summary.attempts
    ]
    parts = [table(("kernel", "phase", "score", "verdict", "why kept or dropped"), rows)] if rows else []
    evaluation = best_evaluation(summary)
    if evaluation is not None and evaluation.timing is not None:
        gains = (f"over {name} {one.describe()}" for name, one in evaluation.timing.speedup.items())
        parts.append(f"The answer: {', '.join(gains)}.")
    elif evaluation is not None:
        parts.append("The answer is right; nothing was timed, so its gain is not known.")
    return "\n\n".join(parts) or f"Nothing{_yet(summary)}."


def _verdict(attempt: Attempt) -> str:
    return f"{attempt.evaluation.verdict}{', kept' if attempt.kept else ''}"


def _stages(summary: RunSummary) -> str:
    """Those that ran with what they brought, and those that were skipped with why."""
    lines = [
        f"{one.candidate.stage}, kernel {one.candidate.number}: {_told(one)} {plain(one.why)}"
        for one in summary.attempts
        if one.candidate.phase is Phase.STAGE
    ]
    lines += [f"{plain(one.about)}: {plain(one.why)}" for one in summary.decisions if _is_about_stages(one)]
    refused = (one for one in summary.refusals if one.phase is Phase.STAGE)
    lines += [f"Call {one.call} brought no kernel: {plain(one.problem)}" for one in refused]
    return bullets(lines) or "None was tried."


def _is_about_stages(decision: DecisionEvent) -> bool:
    """A run that is stopped early leaves its stages out too."""
    return decision.about.startswith("stage") or decision.about == "stop"


def _costs(summary: RunSummary) -> str:
    rows = [
        (str(phase), str(one.calls), f"{one.usage.tokens:,}", money_text(one.usage.dollars, one.known_dollars))
        for phase, one in summary.costs_by_phase.items()
    ]
    total = summary.spent
    cost = money_text(total.usage.dollars, total.known_dollars)
    rows.append(("total", str(total.calls), f"{total.usage.tokens:,}", cost))
    return f"{table(('phase', 'calls', 'tokens', 'cost'), rows)}\n\nTime: {clock_text(summary.busy_seconds)}."
