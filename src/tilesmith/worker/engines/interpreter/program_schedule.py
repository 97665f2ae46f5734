"""Runs the programs of a grid so that those which wait for one another make progress.

Programs run one after the other in a single greenlet until one pauses, at an atomic or a
volatile load. The paused greenlet keeps that program's stack, and a new one carries on with
the rest. A launch without atomics therefore costs no more than a plain loop.

Seed 0 is the natural order, in which a program pauses only when it polls: it has come to a `while`,
without which none can wait, and its atomic changed nothing. Any other seed shuffles the programs
and lets chance decide at every atomic. A program that repeats a recorded one pauses where it would
as it is written.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from greenlet import GreenletExit, getcurrent, greenlet

from tilesmith.worker.engines.interpreter import state
from tilesmith.worker.engines.interpreter.kernel_code import source_lines
from tilesmith.worker.engines.interpreter.kernel_faults import Deadlock, KernelLocation

# Rounds of fruitless polling after which nothing can change any more.
_IDLE_POLLS = 500
_IDLE_POLLS_PER_PROGRAM = 50
# Programs in flight under a random order; more would only hold memory.
_IN_FLIGHT = 64

Index = tuple[int, int, int]


class Program:
    """What belongs to one program alone, wherever it pauses."""

    def __init__(self, number: int, index: Index) -> None:
        self.number, self.index = number, index
        self.may_wait = self.polled = False
        """It has come to a `while`; there it has polled."""
        self.stored: list[Any] | None = None
        """What it has written over, while it repeats a recorded one and can be undone."""
        self.repeated_line: source_lines.SourceLine | None = None
        """Where it is in what it repeats."""


class _ProgramGreenlet(greenlet):
    """A greenlet that runs programs until it is paused, then only the one it is in."""

    program: Program
    paused = False


class ProgramSchedule:
    """The programs of one launch."""

    def __init__(self, kernel: str, grid: Index, seed: int, check_deadline: Callable[[], None]) -> None:
        self.kernel, self.grid = kernel, grid
        self.current = Program(0, (0, 0, 0))
        self._check_deadline = check_deadline
        self._random = random.Random(seed) if seed else None
        self._waiting: list[_ProgramGreenlet] = []
        self._pending: Sequence[int] = range(grid[0] * grid[1] * grid[2])
        if self._random:
            self._pending = self._random.sample(self._pending, len(self._pending))
        self._started = 0
        self._idle_polls = 0
        self._body: Callable[[], Any] = lambda: None
        self._hub: Any = None

    @property
    def count(self) -> int:
        return len(self._pending)

    @property
    def finished(self) -> int:
        """Programs that came to their end, so far."""
        return self._started - len(self._waiting) - 1

    def run(self, body: Callable[[], Any]) -> None:
        """Run every program to its end; whatever one raises ends the launch."""
        self._body, self._hub = body, getcurrent()
        try:
            while (runner := self._choose()) is not None:
                if runner.paused:
                    self.current = runner.program
                runner.switch()
                if runner.paused and not runner.dead:
                    self._waiting.append(runner)
                    self._look_for_deadlock()
        finally:
            for runner in self._waiting:
                runner.throw(GreenletExit)

    def pause(self, polling: bool) -> None:
        """A point at which another program may run; `polling` if this one learned nothing new."""
        if polling and self.current.may_wait:
            self._idle_polls += 1
            self.current.polled = True
        elif self._random is None or self._random.random() < 0.5:
            return
        self._switch()

    def let_others_run(self) -> None:
        """Pause whatever the order, in a `while` loop that has been going round for long."""
        if not self.current.polled:
            self.progress()  # it computes, or waits in a way that only the deadline can end
        self.current.polled = False
        self._switch()

    def _switch(self) -> None:
        self._check_deadline()
        assert state.tape() is None, "a program that is recorded pauses"
        getcurrent().paused = True
        self._hub.switch()

    def progress(self) -> None:
        """Memory changed, so whoever waits may find what it waits for."""
        self._idle_polls = 0

    def index_of(self, number: int) -> Index:
        """The program id of the n-th program, x fastest as on the GPU."""
        return number % self.grid[0], number // self.grid[0] % self.grid[1], number // (self.grid[0] * self.grid[1])

    def _choose(self) -> _ProgramGreenlet | None:
        more = self._started < len(self._pending)
        if not more and not self._waiting:
            return None
        if self._random is None:
            return _ProgramGreenlet(self._work) if more else self._waiting.pop(0)
        crowded = len(self._waiting) >= _IN_FLIGHT and self._idle_polls < 4 * _IN_FLIGHT
        position = self._random.randrange(len(self._waiting) + (more and not crowded))
        return self._waiting.pop(position) if position < len(self._waiting) else _ProgramGreenlet(self._work)

    def _work(self) -> None:
        runner = getcurrent()
        with np.errstate(all="ignore"):  # a greenlet starts with a context of its own
            while not runner.paused and self._started < len(self._pending):
                number = self._pending[self._started]
                self.current = runner.program = Program(number, self.index_of(number))
                self._started += 1
                self._check_deadline()
                self._body()
                self._idle_polls = 0

    def _look_for_deadlock(self) -> None:
        limit = _IDLE_POLLS + _IDLE_POLLS_PER_PROGRAM * len(self._waiting)
        if self._started < len(self._pending) or self._idle_polls < limit:
            return
        lines = sorted({str(source_lines.current_line(runner.gr_frame)) for runner in self._waiting})
        first = self._waiting[0]
        raise Deadlock(
            f"deadlock: {len(self._waiting)} of {len(self._pending)} programs wait on "
            f"{'; '.join(lines)} and nothing changes memory any more",
            KernelLocation(self.kernel, first.program.index, source_lines.current_line(first.gr_frame)),
        )
