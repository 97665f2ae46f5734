"""Trials on the shapes of an operator: as many open at once as are sure to fit on the GPU together."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import geometric_mean

from tilesmith.forge.tuning.search import Trials
from tilesmith.judge.trials import CompiledTrial

MOST_OPEN = 4
"""Each has a process on the GPU."""
MOST_BYTES = 1 << 30
"""Of the inputs of all that are open. Trials wait for room on the GPU, and who waits for himself waits forever."""


@dataclass(eq=False)
class TrialsOnDemand:
    """Trials on one shape, opened when they are first asked, and again after others took their place."""

    open: Callable[[], contextlib.AbstractContextManager[Trials]]
    input_bytes: int
    group: list[TrialsOnDemand]
    """All that are open, the one that was asked last at the end."""
    _stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    _opened: Trials | None = None

    @property
    def is_timed(self) -> bool:
        return self._trials().is_timed

    def compile(self, texts: Sequence[str], limit_s: float) -> Sequence[CompiledTrial]:
        return self._trials().compile(texts, limit_s)

    def time_ms(self, text: str, calls: int) -> float | None:
        trials = self._trials()
        return trials.time_ms(text, calls) if trials.is_timed else None

    def time_kernels(self, text: str, calls: int, kernels: Sequence[str]) -> Mapping[str, float]:
        trials = self._trials()
        return trials.time_kernels(text, calls, kernels) if trials.is_timed else {}

    def _trials(self) -> Trials:
        if self in self.group:
            self.group.remove(self)
        while self.group and not _fit([*self.group, self]):
            self.group[0].close()
        self.group.append(self)
        if self._opened is None:
            self._opened = self._stack.enter_context(self.open())
        return self._opened

    def close(self) -> None:
        if self in self.group:
            self.group.remove(self)
        self._opened = None
        self._stack.close()


def _fit(trials: Sequence[TrialsOnDemand]) -> bool:
    return len(trials) <= MOST_OPEN and sum(one.input_bytes for one in trials) <= MOST_BYTES


@dataclass
class ShapeTrials:
    """Trials on several shapes, as the search takes them: a text's time is the geometric mean over the first few,
    which stay open."""

    trials: Sequence[Trials]
    shapes: Sequence[str]
    is_timed: bool
    times: dict[str, list[float]] = field(default_factory=dict)
    """Milliseconds of each text, shape by shape."""
    compiled: dict[str, CompiledTrial] = field(default_factory=dict)

    def compile(self, texts: Sequence[str], limit_s: float) -> Sequence[CompiledTrial]:
        found = self.trials[0].compile(texts, limit_s)
        self.compiled |= dict(zip(texts, found, strict=False))
        return found

    def time_ms(self, text: str, calls: int) -> float | None:
        times: list[float] = []
        for one in self.trials[:MOST_OPEN]:
            spent = one.time_ms(text, calls)
            if spent is None:
                return None
            times.append(spent)
        self.times[text] = times
        return geometric_mean(times)

    def time_kernels(self, text: str, calls: int, kernels: Sequence[str]) -> dict[str, float]:
        found = [one.time_kernels(text, calls, kernels) for one in self.trials[:MOST_OPEN]]
        return {
            name: geometric_mean(one[name] for one in found)
            for name in kernels
            if all(name in one for one in found)
        }
