"""What limits the best kernel? A structured answer, asked for twice at most, then done without."""

from __future__ import annotations

from collections.abc import Generator

from tilesmith.forge.replies import UnusableReply, extract_analysis
from tilesmith.forge.state import ForgeState
from tilesmith.records import Analysis, AnalysisEvent, Attempt, AuthorRequest, Event, Phase, StopReason

BE_BRIEF = (
    "It was cut off at the limit on output tokens. Answer with the JSON object alone, each field in a sentence."
)


def analyze(state: ForgeState, base: Attempt) -> Generator[Event, None, Analysis | None]:
    """The analysis of `base`; none when it was not to be had."""
    return (yield from _request_analysis(state, state.new_request(Phase.ANALYZE, base=base), base.candidate.number))


def _request_analysis(
    state: ForgeState, request: AuthorRequest, base: int
) -> Generator[Event, None, Analysis | None]:
    reply = state.ask(request)
    if reply.stop is StopReason.DECLINED:
        yield AnalysisEvent(request.number, base, None, reply.text)
        return None
    try:
        analysis = extract_analysis(reply.text)
    except UnusableReply as problem:
        yield AnalysisEvent(request.number, base, None, str(problem))
        if request.complaint is not None:
            return None
        complaint = BE_BRIEF if reply.stop is StopReason.LENGTH else str(problem)
        return (yield from _request_analysis(state, state.repeat_request(request, complaint), base))
    yield AnalysisEvent(request.number, base, analysis)
    return analysis
