"""The last word: the winner is judged once more by a fresh process under a seed nobody has seen."""

from __future__ import annotations

from collections.abc import Generator

from tilesmith.forge.bench import Bench
from tilesmith.forge.ranking import is_faster, score_of
from tilesmith.records import Attempt, Confirmed, Decision, Evaluation, Event, Finished

MOST_TRIED = 3
"""Candidates that may fail their confirmation before the run has no winner."""


def confirm(bench: Bench) -> Generator[Event, None, None]:
    for attempt in _contenders(bench)[:MOST_TRIED]:
        evaluation = attempt.evaluation
        if bench.dials.confirm:
            evaluation, seconds = bench.workshop.confirm(attempt.candidate)
            bench.spending = bench.spending.after_verdict(seconds)
            yield Confirmed(attempt.candidate.number, evaluation, score_of(evaluation), seconds)
        if evaluation.passed:
            yield _won(bench, attempt, evaluation)
            return
        told = f"not confirmed: {evaluation.verdict}: {evaluation.reason}"
        yield Decision(f"kernel {attempt.candidate.number}", told)
    yield Finished(None, None, None, _why_nothing(bench), bench.stopped_by)


def _contenders(bench: Bench) -> list[Attempt]:
    """Whatever was best at some time, latest first: each replaced the one before it because it was better."""
    return [attempt for attempt in reversed(bench.attempts) if attempt.kept]


def _won(bench: Bench, attempt: Attempt, evaluation: Evaluation) -> Finished:
    faster, score = is_faster(evaluation), score_of(evaluation)
    if faster is None or score is None:
        told = f"right ({evaluation.reason})"
    elif faster:
        told = f"right, and {score:.2f}x as fast as its best baseline"
    else:
        told = f"right, but NOT faster than its best baseline: {score:.2f}x"
    if not bench.dials.confirm:
        told += "; not confirmed, as asked"
    if bench.stopped_by is not None:
        told += f"; the run was stopped: {bench.stopped_by}"
    number = attempt.candidate.number
    return Finished(number, faster, score, f"kernel {number} is {told}", bench.stopped_by)


def _why_nothing(bench: Bench) -> str:
    if bench.best is not None:
        return "no kernel was confirmed"
    told = f"no kernel passed, of {len(bench.attempts)} tried" if bench.attempts else "no kernel was written"
    reason = bench.stopped_by or (bench.last_refusal if not bench.attempts else None)
    return f"{told}: {reason}" if reason else told
