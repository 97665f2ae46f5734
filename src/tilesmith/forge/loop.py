"""The forge: seeds, rounds of analysis and optimization, tuning stages, confirmation.

One generator that yields every event of a run as it happens. What it decides, it decides by recorded replies and
verdicts alone: run again over the same record, it yields the same events.
"""

from __future__ import annotations

from collections.abc import Generator
from itertools import chain

from tilesmith.forge.budget import EarlyStop
from tilesmith.forge.confirmation import confirm
from tilesmith.forge.phases import improve, write_seeds
from tilesmith.forge.recorded_effects import RecordedEffects
from tilesmith.forge.settings import ForgeSettings
from tilesmith.forge.stages import tune
from tilesmith.forge.state import ForgeState
from tilesmith.records import DecisionEvent, Event, RefusalEvent


def forge(effects: RecordedEffects, settings: ForgeSettings) -> Generator[Event, None, None]:
    """Every phase starts from the best verified kernel and can only improve it."""
    state = ForgeState(effects, settings)
    try:
        for event in chain(write_seeds(state), improve(state), tune(state)):
            if isinstance(event, RefusalEvent):
                state.last_refusal = event.problem
            yield event
    except EarlyStop as enough:
        state.stopped_by = str(enough)
        yield DecisionEvent("stop", str(enough))
    yield from confirm(state)
