"""The search for the fastest tuning of a written file: all its kernels at once.

What the compiler refuses or spills is dropped first. The rest is timed by successive halving: a few calls each, and
more calls for the best third. Then come the neighbors of the fastest, which are what the grid, block and memory
stages would try. A file with several kernels has another choice of each of them in every trial, and the profiler
tells their times apart, so that fifty kernels take no more trials than one. What comes of it must be faster as a
whole than the first guess, and a kernel stays only where the file is slower without it. Without a GPU the first
tuning that the compiler takes without spilling is the answer.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tilesmith.judge.trials import CompiledTrial, owner_of
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
_WORTH_LEAVING = 0.995
"""A file must take less than this share of the time without a kernel for PyTorch to take its place."""
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

    def time_kernels(self, text: str, calls: int, kernels: Sequence[str]) -> Mapping[str, float]:
        """Of each kernel that ran, in milliseconds, by what its name begins with."""


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


@dataclass
class TuningSearch:
    """One search; `run` it once."""

    match: TunableFile
    trials: Trials
    limits: SearchLimits
    tell: Callable[[str], None] = lambda _: None
    _times: dict[Tuning, float] = field(default_factory=dict)
    """Of whole files."""
    _tried: set[Tuning] = field(default_factory=set)
    """Whole files that ran, those among them whose kernels were told apart."""
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
            measured=len(self._tried),
            dropped=self._dropped,
            best_ms=self._best_ms,
            first_ms=self._times.get(guess),
            pytorch_ms=self._pytorch_ms,
        )

    def _measure(self, parts: list[TunedPart], ranked: dict[str, tuple[Tuning, ...]]) -> None:
        until = self.limits.clock() + self.limits.seconds
        if parts and self.limits.floor_ms:
            self._timed(self._whole(), CALLS[0])
            if self._is_at_floor:
                return
        fitting = self._fitting({part.key: part.choices for part in parts}, until)
        self._choose_launching(ranked)  # first: where launches take longer, kernels cannot be told apart
        order = self._rank(fitting, until)
        self._take(order, ranked)
        near = {part.key: self._neighbors(part) for part in parts if part.key in order}
        near = {key: found for key, found in near.items() if found}
        if near and not self._is_over(until):
            rivals = {key: [self._current[key], *found] for key, found in self._fitting(near, until).items()}
            order |= {key: found | order[key] | found for key, found in self._rank(rivals, until).items()}
            self._take(order, ranked)
        if parts and len(self._kernels) > 1:
            self._keep_the_guess_if_faster(parts, ranked)
            least = {key: min(found.values()) for key, found in order.items()}
            slowest_first = sorted(parts, key=lambda part: -least.get(part.key, 0.0))
            self._leave_to_pytorch(slowest_first, ranked, until)
        if parts:
            self._choose_launching(ranked)
        if self._times and not self._is_at_floor and all(part.may_be_left for part in self.match.parts):
            without = self._whole({part.key: PYTORCHS for part in self._kernels})
            self._pytorch_ms = self.trials.time_ms(self.match.write(without), CALLS[1])

    def _neighbors(self, part: TunedPart) -> list[Tuning]:
        found = part.neighbors(self._current[part.key])
        return [one for one in dict.fromkeys(found) if one not in part.choices]

    def _take(self, order: Mapping[str, Mapping[Tuning, float]], ranked: dict[str, tuple[Tuning, ...]]) -> None:
        ranked |= {key: tuple(found) for key, found in order.items()}
        self._current |= {key: next(iter(found)) for key, found in order.items()}

    def _rank(self, rivals: Choices, until: float) -> dict[str, dict[Tuning, float]]:
        """Successive halving among the choices of every part: those that ran, fastest first, in milliseconds."""
        order: dict[str, dict[Tuning, float]] = {}
        alive = dict(rivals)
        for calls in CALLS:
            times = self._times_of(alive, calls, until, has_found=bool(order))
            if not order:
                self._unfinished |= {key for key, choices in alive.items() if len(times[key]) < len(choices)}
            fresh = {
                key: dict(sorted(found.items(), key=lambda one: one[1])) for key, found in times.items() if found
            }
            order |= {key: found | order.get(key, {}) | found for key, found in fresh.items()}
            alive = {
                key: list(found)[: max(2, -(-len(found) // 3))] for key, found in fresh.items() if len(found) > 1
            }
            if not alive or self._is_over(until):
                break
        return order

    def _times_of(
        self, rivals: Choices, calls: int, until: float, has_found: bool
    ) -> dict[str, dict[Tuning, float]]:
        """Of each choice that ran, in milliseconds."""
        times: dict[str, dict[Tuning, float]] = {key: {} for key in rivals}
        for column in _columns(rivals):
            if self._is_over(until) and (has_found or any(times.values())) and self._has_compared:
                break
            for key, spent in self._spent(column, calls).items():
                times[key].setdefault(column[key], spent)
        return times

    def _spent(self, column: Mapping[str, Tuning], calls: int) -> dict[str, float]:
        """What these choices of some parts take in one file: the only kernel of a file takes all of its time."""
        whole = self._whole(column)
        if len(self._kernels) == 1:
            spent = self._timed(whole, calls)
            return {} if spent is None else dict.fromkeys(column, spent)
        kernels = {part.key: part.kernel for part in self._kernels if self._current[part.key] != PYTORCHS}
        found = self.trials.time_kernels(self.match.write(whole), calls, list(kernels.values()))
        if found:
            self._tried.add(whole)
            self.tell(f"tunings measured: {len(self._tried)}")
        return {key: found[kernels[key]] for key in column if kernels.get(key) in found}

    def _keep_the_guess_if_faster(self, parts: list[TunedPart], ranked: dict[str, tuple[Tuning, ...]]) -> None:
        guess = {part.key: part.choices[0] for part in parts}
        apart, together = self._timed(self._whole(guess), CALLS[-1]), self._timed(self._whole(), CALLS[-1])
        if apart is not None and (together is None or apart < together):
            for key, first in guess.items():
                ranked[key] = tuple(dict.fromkeys([first, *ranked[key]]))
                self._current[key] = first

    def _leave_to_pytorch(
        self, parts: list[TunedPart], ranked: dict[str, tuple[Tuning, ...]], until: float
    ) -> None:
        """Each kernel without which the whole file is faster; `parts` that take long come first."""
        for part in parts:
            if not self._may_be_left(part):
                continue
            if self._is_over(until):
                self._unfinished.add(part.key)
                continue
            least = self._times.get(self._whole(), math.inf)
            spent = self._timed(self._whole_with(part, PYTORCHS), CALLS[1])
            if spent is not None and spent < _WORTH_LEAVING * least:
                ranked[part.key] = (PYTORCHS, *ranked[part.key])
                self._current[part.key] = PYTORCHS
            elif spent is not None:
                ranked[part.key] = (*ranked[part.key], PYTORCHS)

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

    def _timed(self, whole: Tuning, calls: int) -> float | None:
        spent = self.trials.time_ms(self.match.write(whole), calls)
        if spent is not None:
            self._times[whole] = spent
            self._tried.add(whole)
            self.tell(f"tunings measured: {len(self._tried)}, fastest {self._best_ms:.4g} ms")
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
        columns = _columns(rivals)
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
        return len(self._kernels) == 1 or part.kernel == owner_of(kernel, [one.kernel for one in self._kernels])

    def _may_be_left(self, part: TunedPart) -> bool:
        """Whether a kernel remains without it: a file of PyTorch's operators alone is no answer."""
        others = [one for one in self._kernels if one.key != part.key]
        return part.may_be_left and any(self._current[one.key] != PYTORCHS for one in others)

    def _is_over(self, until: float) -> bool:
        return self.limits.clock() >= until or self._is_at_floor

    @property
    def _has_compared(self) -> bool:
        return len(self._tried) >= _LEAST_TIMED or self._is_at_floor

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


def _columns(rivals: Choices) -> list[dict[str, Tuning]]:
    """A choice of every part in each, until all were there; a part that has no more keeps its last."""
    rows = range(max(map(len, rivals.values()), default=0))
    return [{key: choices[min(row, len(choices) - 1)] for key, choices in rivals.items()} for row in rows]


def list_tunings(match: TunableFile, ranked: Choices, timed: Sequence[Tuning] = ()) -> tuple[Tuning, ...]:
    """Of whole files: the best choice of every part, the same launched in another way, those that were timed, the
    next choice of every part, and so on; at last what else the recipe knows."""
    rows = range(max(map(len, ranked.values())))
    choices = [ranked[part.key] for part in match.parts]
    best, *others = [join_tunings(own[min(row, len(own) - 1)] for own in choices) for row in rows]
    launched = join_tunings(ranked[part.key][0 if part.is_kernel else -1] for part in match.parts)
    return tuple(dict.fromkeys([best, launched, *timed, *(one for one in others if one.values), *match.tunings]))
