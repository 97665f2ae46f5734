"""What limits the best kernel? A structured answer, asked for twice at most, then done without."""

from __future__ import annotations

from collections.abc import Generator

from tilesmith.forge.bench import Bench
from tilesmith.forge.replies import UnusableReply, analysis_in
from tilesmith.records import Analysed, Analysis, Attempt, Event, Phase, Request, Stop

BE_BRIEF = (
    "It was cut off at the limit on output tokens. Answer with the JSON object alone, each field in a sentence."
)


def analyse(bench: Bench, base: Attempt) -> Generator[Event, None, Analysis | None]:
    """The analysis of `base`; none when it was not to be had."""
    return (yield from _asked(bench, bench.request(Phase.ANALYSE, base=base), base.candidate.number))


def _asked(bench: Bench, request: Request, base: int) -> Generator[Event, None, Analysis | None]:
    reply = bench.ask(request)
    if reply.stop is Stop.DECLINED:
        yield Analysed(request.number, base, None, reply.text)
        return None
    try:
        analysis = analysis_in(reply.text)
    except UnusableReply as problem:
        yield Analysed(request.number, base, None, str(problem))
        if request.complaint is not None:
            return None
        complaint = BE_BRIEF if reply.stop is Stop.LENGTH else str(problem)
        return (yield from _asked(bench, bench.again(request, complaint), base))
    yield Analysed(request.number, base, analysis)
    return analysis
