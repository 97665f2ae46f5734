"""What limits the best kernel? A structured answer, asked for twice at most, then done without."""

from __future__ import annotations

from collections.abc import Generator

from tilesmith.forge.bench import Bench
from tilesmith.forge.replies import UnusableReply, analysis_in
from tilesmith.records import Analysed, Analysis, Attempt, Event, Phase, Stop

TIMES_ASKED = 2


def analyse(bench: Bench, base: Attempt) -> Generator[Event, None, Analysis | None]:
    request = bench.request(Phase.ANALYSE, base=base)
    for _ in range(TIMES_ASKED):
        reply = bench.ask(request)
        about = request.number, base.candidate.number
        if reply.stop is Stop.DECLINED:
            yield Analysed(*about, None, reply.text)
            return None
        try:
            analysis = analysis_in(reply.text)
        except UnusableReply as problem:
            yield Analysed(*about, None, str(problem))
            request = bench.again(request, str(problem))
            continue
        yield Analysed(*about, analysis)
        return analysis
    return None

