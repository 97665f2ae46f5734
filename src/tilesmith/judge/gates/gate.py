"""A gate, and how a table of gates is gone through: in order, timed, until one says no."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tilesmith.judge.examination import CheckFindings, Examination
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.records import GateTiming

Progress = Callable[[str], None]


def is_right_so_far(exam: Examination) -> bool:
    """Nothing failed, not even at a small shape that the task's own one excused."""
    return exam.findings.failure is None and not exam.findings.excused


def has_failed(exam: Examination) -> bool:
    return exam.findings.failure is not None


def always(exam: Examination) -> bool:
    return True


@dataclass(frozen=True)
class Gate:
    """One question to a kernel: takes the examination so far and returns what is known after it, or raises."""

    name: str
    ask: Callable[[Examination], CheckFindings]
    when: Callable[[Examination], bool] = is_right_so_far
    excusable: bool = False
    """A failure waits for the gates that follow: the small shape may be to blame, and not the kernel."""


class GateClock:
    """Times the gates of one check, and says which one is at work."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._timings: list[GateTiming] = []

    @property
    def timings(self) -> tuple[GateTiming, ...]:
        """Gates of one name that follow one another are one."""
        merged: list[GateTiming] = []
        for timing in self._timings:
            if merged and merged[-1].gate == timing.gate:
                merged[-1] = replace(timing, seconds=round(merged[-1].seconds + timing.seconds, 3))
            else:
                merged.append(timing)
        return tuple(merged)

    @contextlib.contextmanager
    def gate(self, name: str) -> Iterator[None]:
        self._progress(name)
        began = time.monotonic()
        outcome = "error"
        try:
            yield
            outcome = "passed"
        except GateFailed as failed:
            outcome = str(failed.verdict)
            raise
        finally:
            self._timings.append(GateTiming(name, round(time.monotonic() - began, 3), outcome))

    @contextlib.contextmanager
    def waiting(self, name: str) -> Iterator[None]:
        """Like a gate that is over when the next one begins."""
        self._progress(name)
        began, already = time.monotonic(), len(self._timings)
        try:
            yield
        finally:
            later = sum(gate.seconds for gate in self._timings[already:])
            seconds = round(max(time.monotonic() - began - later, 0.0), 3)
            self._timings.insert(already, GateTiming(name, seconds, "passed"))


class Conclusion(NamedTuple):
    """How a table of gates ended: all that was found, and the failure that ended it, if one did."""

    findings: CheckFindings
    failure: GateFailed | None


def go_through(gates: Sequence[Gate], exam: Examination, clock: GateClock) -> Conclusion:
    """Ask every gate that applies, until one says no."""
    for gate in gates:
        if not gate.when(exam):
            continue
        try:
            with clock.gate(gate.name):
                found = gate.ask(exam)
        except GateFailed as failed:
            if not gate.excusable or failed.is_conclusive:
                return Conclusion(exam.findings, failed)
            found = replace(exam.findings, failure=failed)
        exam = replace(exam, findings=found)
    return Conclusion(exam.findings, exam.findings.failure)
