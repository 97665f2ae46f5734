"""The common steps of every phase: ask for a kernel, read it, judge it, repair it, revise it."""

from __future__ import annotations

from collections.abc import Generator

from tilesmith.errors import NotJudgedHere
from tilesmith.forge.plan_findings import plan_findings
from tilesmith.forge.ranking import VERDICTS_BY_PROGRESS
from tilesmith.forge.replies import UnusableReply, extract_kernel
from tilesmith.forge.state import ForgeState
from tilesmith.records import (
    Attempt,
    AttemptEvent,
    AuthorRequest,
    Event,
    Phase,
    RefusalEvent,
    Reply,
    StopReason,
    Verdict,
)

AttemptEvents = Generator[Event, None, Attempt | None]
"""Tells what happened while it happens, and ends with the last attempt, if there was one."""

BE_BRIEF = (
    "It was cut off at the limit on output tokens. Answer again with the whole file in one code block, "
    "with few comments and no explanation."
)


def attempt_kernel(state: ForgeState, request: AuthorRequest) -> AttemptEvents:
    """One request for a kernel: asked, read, judged; asked once more when the reply has no kernel in it."""
    found = yield from read_kernel(request, state.ask(request))
    if isinstance(found, UnusableReply) and request.complaint is None:
        return (yield from attempt_kernel(state, state.repeat_request(request, str(found))))
    return (yield from judge_kernel(state, request, found)) if isinstance(found, str) else None


def judge_kernel(state: ForgeState, request: AuthorRequest, source: str) -> AttemptEvents:
    """The kernel's attempt; none where this machine cannot judge it, which is not the kernel's fault."""
    try:
        attempt = state.judge(request, source)
    except NotJudgedHere as reason:
        state.not_judged = state.not_judged or str(reason)
        yield refusal_event(request, str(reason))
        return None
    yield AttemptEvent(attempt)
    return attempt


def repair_kernel(state: ForgeState, attempt: Attempt, tries: int) -> Generator[Event, None, Attempt]:
    """Repaired until it passes or the tries are used up; each starts from the newest text and knows the others."""
    history: tuple[Attempt, ...] = ()
    while len(history) < tries and is_repairable(attempt):
        plan = state.plan_of(attempt)
        request = state.new_request(
            Phase.REPAIR, base=attempt, history=history, analysis=plan.analysis, use_fallback=plan.use_fallback
        )
        history += (attempt,)
        repaired = yield from attempt_kernel(state, request)
        if repaired is None or repaired.same_as is not None:
            break  # an author that has no other idea will not have one if asked again
        attempt = repaired
    state.stop_if_target_met()
    return attempt


def revise_kernel(state: ForgeState, attempt: Attempt) -> Generator[Event, None, Attempt]:
    """A kernel that works but is not what an expert would have planned goes back once, with the lesson."""
    lessons = plan_findings(attempt.evaluation)
    if not attempt.evaluation.passed or not lessons:
        return attempt
    request = state.new_request(Phase.REVISE, base=attempt, lessons=lessons)
    revised = yield from attempt_kernel(state, request)
    if revised is not None:
        revised = yield from repair_kernel(state, revised, state.settings.repairs)
    return revised if revised and revised.evaluation.passed else attempt


def refusal_event(request: AuthorRequest, problem: str) -> RefusalEvent:
    base = request.base.candidate.number if request.base else None
    return RefusalEvent(request.number, request.phase, problem, base)


def is_repairable(attempt: Attempt) -> bool:
    """A cheat is dropped, and the twin of a kernel that failed has been repaired already."""
    verdict = attempt.evaluation.verdict
    return verdict is not Verdict.PASSED and verdict in VERDICTS_BY_PROGRESS and attempt.same_as is None


def read_kernel(request: AuthorRequest, reply: Reply) -> Generator[Event, None, str | UnusableReply | None]:
    """The kernel in a reply; else what is wrong with it; None when asking again makes no sense."""
    if reply.stop is StopReason.DECLINED:
        yield refusal_event(request, reply.text)
        return None
    if reply.stop is StopReason.KEEPS_PYTORCH:  # which is told once, when the run ends
        return None
    try:
        return extract_kernel(reply.text)
    except UnusableReply as problem:
        was_cut = reply.stop is StopReason.LENGTH
        yield refusal_event(request, "cut off by the token limit" if was_cut else str(problem))
        return UnusableReply(BE_BRIEF) if was_cut else problem
