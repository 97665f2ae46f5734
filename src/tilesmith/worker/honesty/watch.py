"""Candidate code runs under a watch: tripwires armed, doors closed, the judge out of sight, an inventory after."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from tilesmith.records import Verdict
from tilesmith.worker.channel import Channel
from tilesmith.worker.honesty import doors, ghost, inventory, tripwire
from tilesmith.worker.honesty.caught import Caught
from tilesmith.worker.honesty.inventory import Changes
from tilesmith.worker.honesty.paths import Territory
from tilesmith.worker.honesty.settings import flipped, switches

_OWN_MODULES = "tilesmith."


def confess(channel: Channel, reason: str) -> NoReturn:
    """The last this process says; nothing that runs after it can take it back."""
    if ghost.is_copy():
        ghost.tell_original({"caught": reason})
    channel.answer({"fault": {"verdict": str(Verdict.CHEATING), "message": reason}})
    os._exit(0)


class Watch:
    """One per process that runs a candidate. Made after our own stand-ins are installed, before its code is."""

    def __init__(self, territory: Territory, report: Callable[[str], None]) -> None:
        """`report` tells the parent and ends the process."""
        self._report = report
        self._inventory = inventory.taken()
        self._threads = set(sys._current_frames())
        self._handlers = _handlers()
        tripwire.arm(territory, report)

    @contextmanager
    def over_candidate_code(self) -> Iterator[None]:
        """Raises Caught when the code has changed what is not its own. Errors of the code itself pass through."""
        before = switches()
        with doors.closed(self._report) as stand_ins:
            meant = self._inventory.departures() | stand_ins
            try:
                with _out_of_sight():
                    yield
            except Exception:
                self._refuse_replacements(meant)  # or what it left behind would be taken for ours next time
                raise
            self._inspect(meant, before)

    def _refuse_replacements(self, meant: Changes) -> None:
        name = self._inventory.replaced(meant)
        if name is not None:
            raise Caught(f"it replaced {name}, on which the judge relies")

    def _inspect(self, meant: Changes, before: dict[str, Any]) -> None:
        switch = flipped(before, switches())
        if switch is not None:
            raise Caught(f"it switches {switch} for the whole process; ask for precision inside its own kernels")
        self._refuse_replacements(meant)
        if set(sys._current_frames()) - self._threads:
            raise Caught("it left a thread running when forward had returned")
        if _handlers() != self._handlers:
            raise Caught("it took over signals or the garbage collector of the process that judges it")


@contextmanager
def _out_of_sight() -> Iterator[None]:
    """Our modules cannot be found by name; an import of them is an audit event, and a tripwire."""
    ours = {name: module for name, module in sys.modules.items() if f"{name}.".startswith(_OWN_MODULES)}
    for name in ours:
        del sys.modules[name]
    try:
        yield
    finally:
        sys.modules.update(ours)


def _handlers() -> list[Any]:
    signals = [signal.getsignal(number) for number in signal.valid_signals()]
    return [*signals, list(gc.callbacks), gc.get_threshold(), gc.isenabled()]
