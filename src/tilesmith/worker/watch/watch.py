"""Candidate code runs under a watch: audited, functions blocked, the judge out of sight, names compared after."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from tilesmith.process.channel import Channel
from tilesmith.process.protocol.codec import RequestFailure, encode
from tilesmith.worker.watch import audit_hook, blocked_functions, forked_copy, name_snapshot
from tilesmith.worker.watch.allowed_paths import AllowedPaths
from tilesmith.worker.watch.cheating_detected import CheatingDetected, Report
from tilesmith.worker.watch.code_origin import claim_for_candidate
from tilesmith.worker.watch.global_switches import flipped, switches
from tilesmith.worker.watch.name_snapshot import Changes

_OWN_MODULES = "tilesmith."


def report_and_exit(channel: Channel, detected: CheatingDetected) -> NoReturn:
    """The last this process says; nothing that runs after it can take it back."""
    if forked_copy.is_copy():
        forked_copy.report_cheating(detected)
    channel.answer({"failure": encode(RequestFailure("kernel", str(detected), detected.verdict))})
    os._exit(0)


class Watch:
    """One per process that runs a candidate. Made after our own replacements are installed, before its code is."""

    def __init__(self, paths: AllowedPaths, report: Report) -> None:
        """`report` tells the parent and ends the process."""
        self._report = report
        self._snapshot = name_snapshot.snapshot_of_process()
        self._threads = set(sys._current_frames())
        self._handlers = _handlers()
        self._collects = True
        """Whether the garbage collector was on when candidate code ended."""
        self._uninspected: tuple[Changes, dict[str, Any]] | None = None
        """What was meant to differ, and how the switches stood, before code ran that was not inspected."""
        for folder in (paths.kernel_folder, paths.own_folder):
            claim_for_candidate(folder)
        audit_hook.install_hook(paths, report)
        gc.disable()  # what a candidate leaves behind may run code when it is collected: only under the watch

    @contextmanager
    def over_candidate_code(self, inspects: bool = True) -> Iterator[None]:
        """Raises CheatingDetected when the code has changed what is not its own; its own errors pass through.

        Looking for changes takes tens of milliseconds: without `inspects`, it is left to the next time.
        """
        if not inspects:
            self._uninspected = self._uninspected or (self._snapshot.intended_changes(), switches())
            with blocked_functions.blocked(self._report), self._out_of_sight():
                yield
            return
        if self._uninspected is not None:
            self._inspect(*self._uninspected)
            self._uninspected = None
        before = switches()
        with blocked_functions.blocked(self._report) as replacements:
            intended = self._snapshot.intended_changes() | replacements
            try:
                with self._out_of_sight():
                    yield
            except Exception:
                self._refuse_replacements(intended)  # or what it left behind would be taken for ours next time
                raise
            self._inspect(intended, before)

    def _refuse_replacements(self, intended: Changes) -> None:
        name = self._snapshot.replaced(intended)
        if name is not None:
            raise CheatingDetected(f"it replaced {name}, on which the judge relies")

    def _inspect(self, intended: Changes, before: dict[str, Any]) -> None:
        switch = flipped(before, switches())
        if switch is not None:
            raise CheatingDetected(
                f"it switches {switch} for the whole process; ask for precision inside its own kernels"
            )
        self._refuse_replacements(intended)
        if set(sys._current_frames()) - self._threads:
            raise CheatingDetected("it left a thread running when forward had returned")
        if _handlers() != self._handlers or not self._collects:
            raise CheatingDetected("it took over signals or the garbage collector of the process that judges it")

    @contextmanager
    def _out_of_sight(self) -> Iterator[None]:
        """Our modules cannot be found by name; an import of them is an audit event, and is caught. Garbage is
        collected here alone."""
        ours = {name: module for name, module in sys.modules.items() if f"{name}.".startswith(_OWN_MODULES)}
        for name in ours:
            del sys.modules[name]
        is_inner = gc.isenabled()
        gc.enable()
        try:
            yield
        finally:
            self._collects = gc.isenabled()
            if not is_inner:
                gc.disable()
            sys.modules.update(ours)


def _handlers() -> list[Any]:
    signals = [signal.getsignal(number) for number in signal.valid_signals()]
    return [*signals, list(gc.callbacks), gc.get_threshold()]
