"""The search for the fastest tuning of a written file: kernel by kernel, the others as they are.

What the compiler refuses or spills is dropped first. The rest is timed by successive halving: a few calls each, and
more calls for the best third. Then come the neighbors of the fastest, which are what the grid, block and memory
stages would try. Without a GPU the first tuning that the compiler takes without spilling is the answer.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from tilesmith.judge.trials import CompiledTrial
from tilesmith.playbook.recipe import TunableFile, TunedPart, Tuning, join_tunings

CALLS = (3, 8, 20)
"""Timed in each round of halving."""
_LEAST_TIMED = 4
"""So many are timed however long it takes: beside other tasks, the time may pass with waiting for the GPU."""
PYTORCHS = Tuning(())
"""The choice that leaves a part to PyTorch."""
_AT_THE_FLOOR = 1.13
"""A file this close to its roofline has nothing left to gain: a copy reaches 89 % of the bandwidth on paper."""
_COMPILING = 0.5
"""The share of the time in which compilations may begin."""
_WORTH_A_GRAPH = 0.97
"""Another way to launch kernels must take less than this share of the time: it takes memory, too."""
_MOST_COMPILED = 6
"""Without a GPU: nothing more is learned by compiling all of them."""

Choices = Mapping[str, Sequence[Tuning]]
"""Of parts, by their keys."""


class Trials(Protocol):
    """Who compiles and times texts: `judge.trials.KernelTrials`."""

    @property
    def is_timed(self) -> bool: ...

    def compile(self, texts: Sequence[str], limit_s: float) -> Sequence[CompiledTrial]:
        """Of the first texts, as many as are begun in that time, and one at least."""

    def time_ms(self, text: str, calls: int) -> float | None: ...


@dataclass(frozen=True)
class SearchLimits:
    seconds: float
    floor_ms: float | None = None
    """What nobody can be faster than."""
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True)
class SearchOutcome:
    """What a search found."""

    ranked: dict[str, tuple[Tuning, ...]]
    """The choices of each part by its key, fastest first."""
    unfinished: frozenset[str]
    """Parts for which the time was too short to try everything once."""
    tunings: tuple[Tuning, ...]
    """Of whole files: the winner, then others that were timed, then those that were not."""
    measured: int
    dropped: int
    """By the compiler."""
    best_ms: float | None
    first_ms: float | None
    """Of the first guess."""
    pytorch_ms: float | None
    """Of the file without any kernel, where that was compared."""


class _PartTime(NamedTuple):
    part: TunedPart
    until: float


@dataclass
class TuningSearch:
    """One search; `run` it once."""

    match: TunableFile
    trials: Trials
    limits: SearchLimits
    tell: Callable[[str], None] = lambda _: None
    _times: dict[Tuning, float] = field(default_factory=dict)
    """Of whole files."""
    _current: dict[str, Tuning] = field(default_factory=dict)
    _unfinished: set[str] = field(default_factory=set)
    _dropped: int = 0
    _pytorch_ms: float | None = None

    def run(self, known: Choices) -> SearchOutcome:
        """`known`: parts that need no search."""
        first = {part.key: part.choices if part.is_kernel else part.choices[:1] for part in self.match.parts}
        ranked = {key: tuple(known.get(key, choices)) for key, choices in first.items()}
        self._current = {key: choices[0] for key, choices in ranked.items()}
        guess = self._whole()
        parts = [part for part in self._kernels if part.key not in known]
        if self.trials.is_timed:
            self._measure(parts, ranked)
        else:
            self._take_first_clean(parts, ranked)
        return SearchOutcome(
            ranked=ranked,
            unfinished=frozenset(self._unfinished),
            tunings=list_tunings(self.match, ranked, sorted(self._times, key=self._times.__getitem__)),
            measured=len(self._times),
            dropped=self._dropped,
            best_ms=self._best_ms,
            first_ms=self._times.get(guess),
            pytorch_ms=self._pytorch_ms,
        )

    def _measure(self, parts: list[TunedPart], ranked: dict[str, tuple[Tuning, ...]]) -> None:
        deadline = self.limits.clock() + self.limits.seconds
        if parts and self.limits.floor_ms:
            self._timed(self._whole(), CALLS[0])
            if self._is_at_floor:
                return
        fitting = self._fitting({part.key: part.choices for part in parts}, deadline)
        self._choose_launching(ranked)  # first: where launches take longer, kernels cannot be told apart
        for place, part in enumerate(parts):
            now = self.limits.clock()
            at = _PartTime(part, now + (deadline - now) / (len(parts) - place))
            found = self._halved(at, [*fitting[part.key], *([PYTORCHS] if self._may_be_left(part) else [])])
            near = [one for one in part.neighbors(found[0]) if one not in part.choices] if found else []
            if near and not self._is_over(at.until) and found[0] != PYTORCHS:
                near = list(self._fitting({part.key: tuple(dict.fromkeys(near))}, at.until)[part.key])
                found = list(dict.fromkeys([*self._halved(at, [found[0], *near]), *found]))
            if found:
                ranked[part.key] = tuple(found)
                self._current[part.key] = found[0]
        if parts:
            self._choose_launching(ranked)
        if self._times and not self._is_at_floor and all(part.may_be_left for part in self.match.parts):
            without = self._whole({part.key: PYTORCHS for part in self._kernels})
            self._pytorch_ms = self.trials.time_ms(self.match.write(without), CALLS[1])

    def _choose_launching(self, ranked: dict[str, tuple[Tuning, ...]]) -> None:
        """Each way in turn, with the kernels as they are."""
        for part in self.match.parts:
            if part.is_kernel or self._is_at_floor:
                continue
            best, least = part.choices[0], math.inf
            for choice in part.choices:
                spent = self._timed(self._whole_with(part, choice), CALLS[1])
                if spent is not None and spent < least * _WORTH_A_GRAPH:
                    best, least = choice, spent
            ranked[part.key] = tuple(dict.fromkeys([best, part.choices[0]]))
            self._current[part.key] = best

    def _halved(self, at: _PartTime, rivals: Sequence[Tuning]) -> list[Tuning]:
        """Those that ran, fastest first."""
        order: list[Tuning] = []
        alive = list(rivals)
        for calls in CALLS:
            times: dict[Tuning, float] = {}
            for choice in alive:
                if self._is_over(at.until) and (order or times) and self._has_compared:
                    break
                spent = self._timed(self._whole_with(at.part, choice), calls)
                times |= {choice: spent} if spent is not None else {}
            if not order and self.limits.clock() >= at.until:
                self._unfinished.add(at.part.key)
            fresh = sorted(times, key=times.__getitem__)
            order = list(dict.fromkeys([*fresh, *order]))
            alive = fresh[: max(2, -(-len(fresh) // 3))]
            if len(fresh) < 2 or self._is_over(at.until):
                break
        return order

    def _timed(self, whole: Tuning, calls: int) -> float | None:
        spent = self.trials.time_ms(self.match.write(whole), calls)
        if spent is not None:
            self._times[whole] = spent
            self.tell(f"tunings measured: {len(self._times)}, fastest {self._best_ms:.4g} ms")
        return spent

    def _take_first_clean(self, parts: list[TunedPart], ranked: dict[str, tuple[Tuning, ...]]) -> None:
        waiting = list(parts)
        for place in range(_MOST_COMPILED):
            rivals = {part.key: (part.choices[place],) for part in waiting if place < len(part.choices)}
            if not rivals:
                return
            costs = self._costs(rivals, self.limits.seconds)
            for part in [one for one in waiting if one.key in rivals]:
                (choice,) = rivals[part.key]
                if costs[part.key][choice] == 0:
                    ranked[part.key] = tuple(dict.fromkeys([choice, *part.choices]))
                    self._current[part.key] = choice
                    waiting.remove(part)
                else:
                    self._dropped += 1

    def _fitting(self, rivals: Choices, until: float) -> dict[str, list[Tuning]]:
        """Without what the compiler refuses, and what spills where others do not; all, where that leaves none."""
        found: dict[str, list[Tuning]] = {}
        limit_s = _COMPILING * max(until - self.limits.clock(), 0.0)
        for key, costs in self._costs(rivals, limit_s).items():
            taken = {choice: cost for choice, cost in costs.items() if cost is not None}
            clean = [choice for choice, cost in taken.items() if cost == 0]
            found[key] = clean or sorted(taken, key=taken.__getitem__) or list(costs)
            self._dropped += len(costs) - len(found[key])
        return found

    def _costs(self, rivals: Choices, limit_s: float) -> dict[str, dict[Tuning, int | None]]:
        """What each choice spills; none where it is refused. What there is no time for is left out.

        One file has one choice of every part.
        """
        if not rivals:
            return {}
        self.tell("compiling")
        rows = range(max(map(len, rivals.values())))
        columns = [{key: choices[min(row, len(choices) - 1)] for key, choices in rivals.items()} for row in rows]
        texts = [self.match.write(self._whole(column)) for column in columns]
        compiled = self.trials.compile(texts, limit_s)
        costs: dict[str, dict[Tuning, int | None]] = {key: {} for key in rivals}
        for column, trial in zip(columns, compiled, strict=False):
            for key, choice in column.items():
                costs[key].setdefault(choice, self._cost(key, trial))
        self._unfinished |= {key for key, choices in rivals.items() if len(costs[key]) < len(choices)}
        return costs

    def _cost(self, key: str, trial: CompiledTrial) -> int | None:
        part = next(one for one in self.match.parts if one.key == key)
        if any(self._belongs(name, part) for name in trial.refused):
            return None
        return sum(spilled for name, spilled in trial.spills.items() if self._belongs(name, part))

    def _belongs(self, kernel: str, part: TunedPart) -> bool:
        """Names of kernels may begin with one another: the longest counts."""
        names = [one.kernel for one in self._kernels if kernel.startswith(one.kernel)]
        return len(self._kernels) == 1 or part.kernel == max(names, key=len, default=None)

    def _may_be_left(self, part: TunedPart) -> bool:
        """Whether a kernel remains without it: a file of PyTorch's operators alone is no answer."""
        others = [one for one in self._kernels if one.key != part.key]
        return part.may_be_left and any(self._current[one.key] != PYTORCHS for one in others)

    def _is_over(self, until: float) -> bool:
        return self.limits.clock() >= until or self._is_at_floor

    @property
    def _has_compared(self) -> bool:
        return len(self._times) >= _LEAST_TIMED or self._is_at_floor

    @property
    def _kernels(self) -> list[TunedPart]:
        return [part for part in self.match.parts if part.is_kernel]

    @property
    def _is_at_floor(self) -> bool:
        floor, best = self.limits.floor_ms, self._best_ms
        return bool(floor and best and best <= _AT_THE_FLOOR * floor)

    @property
    def _best_ms(self) -> float | None:
        return min(self._times.values(), default=None)

    def _whole(self, changed: Mapping[str, Tuning] = {}) -> Tuning:
        chosen = {**self._current, **changed}
        return join_tunings(chosen[part.key] for part in self.match.parts)

    def _whole_with(self, part: TunedPart, choice: Tuning) -> Tuning:
        return self._whole({part.key: choice})


def list_tunings(match: TunableFile, ranked: Choices, timed: Sequence[Tuning] = ()) -> tuple[Tuning, ...]:
    """Of whole files: the best choice of every part, the same launched in another way, those that were timed, the
    next choice of every part, and so on; at last what else the recipe knows."""
    rows = range(max(map(len, ranked.values())))
    choices = [ranked[part.key] for part in match.parts]
    best, *others = [join_tunings(own[min(row, len(own) - 1)] for own in choices) for row in rows]
    launched = join_tunings(ranked[part.key][0 if part.is_kernel else -1] for part in match.parts)
    return tuple(dict.fromkeys([best, launched, *timed, *(one for one in others if one.values), *match.tunings]))
