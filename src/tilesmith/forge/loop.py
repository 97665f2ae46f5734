"""The forge: seeds, rounds of analysis and optimisation, tuning stages, confirmation.

One generator that tells every event of a run as it happens. What it decides, it decides by recorded replies and
verdicts alone: run again over the same record, it tells the same story.
"""

from __future__ import annotations

from collections.abc import Generator
from itertools import chain

from tilesmith.forge.bench import Bench
from tilesmith.forge.budget import EnoughDone
from tilesmith.forge.confirming import confirm
from tilesmith.forge.dials import Dials
from tilesmith.forge.phases import improve, sow
from tilesmith.forge.stages import tune
from tilesmith.forge.workshop import Workshop
from tilesmith.records import Decision, Event, Refused


def forge(workshop: Workshop, dials: Dials) -> Generator[Event, None, None]:
    """Every phase starts from the best verified kernel and can only improve it."""
    bench = Bench(workshop, dials)
    try:
        for event in chain(sow(bench), improve(bench), tune(bench)):
            if isinstance(event, Refused):
                bench.last_refusal = event.problem
            yield event
    except EnoughDone as enough:
        bench.stopped_by = str(enough)
        yield Decision("stop", str(enough))
    yield from confirm(bench)
