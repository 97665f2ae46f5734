"""The last word: the winner as best.py will hold it, judged by a fresh process under a seed nobody has seen."""

from __future__ import annotations

from collections.abc import Generator

from tilesmith.authors.playbook import NAME as PLAYBOOK
from tilesmith.forge.ranking import is_faster, score_of
from tilesmith.forge.state import ForgeState
from tilesmith.records import Attempt, ConfirmationEvent, DecisionEvent, Evaluation, Event, FinishedEvent

LEAST_SCORE = 0.97
"""A kernel of the playbook that is slower than this is no answer, however right it is."""
MOST_CONFIRMATIONS = 3
"""Candidates that may fail their confirmation before the run has no winner."""


def confirm(state: ForgeState) -> Generator[Event, None, None]:
    for attempt in _past_winners(state)[:MOST_CONFIRMATIONS]:
        evaluation = attempt.evaluation
        if state.settings.confirm:
            evaluation, seconds = state.effects.confirm(attempt)
            state.spending = state.spending.after_verdict(seconds)
            yield ConfirmationEvent(attempt.candidate.number, evaluation, score_of(evaluation), seconds)
        if evaluation.passed:
            yield _finished_with(state, attempt, evaluation)
            return
        told = f"not confirmed: {evaluation.verdict}: {evaluation.reason}"
        yield DecisionEvent(f"kernel {attempt.candidate.number}", told)
    reason = state.keeps_pytorch or state.not_judged
    if not state.attempts and reason:
        told = f"PyTorch is kept: {reason}"
        yield FinishedEvent(None, None, None, told, state.stopped_by, keeps_pytorch=True)
        return
    yield FinishedEvent(None, None, None, _reason_for_no_winner(state), state.stopped_by)


def _past_winners(state: ForgeState) -> list[Attempt]:
    """Whatever was best at some time, latest first: each replaced the one before it because it was better."""
    return [attempt for attempt in reversed(state.attempts) if attempt.kept]


def _finished_with(state: ForgeState, attempt: Attempt, evaluation: Evaluation) -> FinishedEvent:
    faster, score = is_faster(evaluation), score_of(evaluation)
    if faster is None or score is None:
        told = attempt.evaluation.reason
    elif faster:
        told = f"right, and {score:.2f}x as fast as its best baseline"
    else:
        told = f"right, but NOT faster than its best baseline: {score:.2f}x"
    if not state.settings.confirm:
        told += "; not confirmed, as asked"
    if state.stopped_by is not None:
        told += f"; the run was stopped: {state.stopped_by}"
    number = attempt.candidate.number
    told = f"kernel {number} is {told}"
    keeps_pytorch = attempt.candidate.author == PLAYBOOK and score is not None and score < LEAST_SCORE
    if keeps_pytorch:
        told = f"PyTorch is kept: {told}"
    return FinishedEvent(number, faster, score, told, state.stopped_by, keeps_pytorch)


def _reason_for_no_winner(state: ForgeState) -> str:
    if state.best is not None:
        return "no kernel was confirmed"
    told = f"no kernel passed, of {len(state.attempts)} tried" if state.attempts else "no kernel was written"
    reason = state.stopped_by or (state.last_refusal if not state.attempts else None)
    return f"{told}: {reason}" if reason else told
