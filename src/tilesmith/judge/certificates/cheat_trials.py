"""Known cheats before the judge: each is judged as a candidate would be, draw after draw, until one kills it."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

from tilesmith.errors import MachineError
from tilesmith.judge.decisions.error_budget import allowance
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.judge.gates.values import judge_comparison
from tilesmith.judge.sessions import ReferenceSession
from tilesmith.process.protocol.comparison import (
    CheatResult,
    Comparison,
    ExactStatistics,
    FloatStatistics,
    OutputStatistics,
)
from tilesmith.process.protocol.reference import ListCheats, TryCheats
from tilesmith.records import Outcome, Trial, Verdict

_LIMIT_S = 120.0
"""For all cheats together; a task whose reference is slower than that is slow to judge as well."""


@dataclass
class _CheatOnTrial:
    """A cheat that nobody has killed yet."""

    name: str
    kind: str
    faced: list[str] = field(default_factory=list)
    """The draws it came through."""
    identical: bool = True
    """It was PyTorch's own result bit for bit on all of them."""
    within: bool = True
    """Its error was on all of them within the plain budget, not widened for want of elements or truth."""
    last: str = ""

    def judge(self, result: CheatResult, k: float, draw: str) -> Trial | None:
        """The trial if this draw ends it."""
        if result.inapplicable is not None:
            return Trial(self.name, Outcome.INAPPLICABLE, None, result.inapplicable)
        if result.comparison is None:
            return None
        complaint = _complaint(result.comparison, k, draw)
        if complaint is not None:
            return Trial(self.name, Outcome.KILLED, draw, complaint)
        outputs = result.comparison.outputs
        self.faced.append(draw)
        self.identical &= result.identical
        self.within &= result.comparison.truth_note is None and all(_is_within(stats, k) for stats in outputs)
        self.last = _closest(outputs, k)
        return None

    @property
    def is_allowed(self) -> bool:
        return self.kind == "rounding" and bool(self.faced) and self.within

    def verdict(self, copies: set[str]) -> Trial:
        """What it is when no draw is left; `copies` are the kinds that are right if they are so bit for bit."""
        if not self.faced:
            return Trial(self.name, Outcome.INAPPLICABLE, None, "there is no second draw to try it on")
        where = f"on {_counted(len(self.faced), 'kind')} of inputs"
        if self.identical and self.kind in copies:
            return Trial(self.name, Outcome.INAPPLICABLE, None, f"it is the right answer, bit for bit, {where}")
        how = "the same bit for bit" if self.identical else self.last
        if self.is_allowed:
            return Trial(self.name, Outcome.ALLOWED, None, f"within the error budget {where}: {how}")
        return Trial(self.name, Outcome.SURVIVED, None, f"{how}, {where}")


class CheatTrials:
    """All cheats of one task on one shape, draw after draw."""

    def __init__(self, reference: ReferenceSession, k: float, shape: str, strong_parameters: bool) -> None:
        self._reference, self._k, self._shape = reference, k, shape
        self._copies = {"echo", "parameters"} if strong_parameters else {"echo"}
        self._deadline = time.monotonic() + _LIMIT_S
        kinds = reference.ask(ListCheats(shape)).kinds
        self._names = tuple(kinds)
        self._on_trial = {name: _CheatOnTrial(name, kind) for name, kind in kinds.items()}
        self._closed: dict[str, Trial] = {}

    def try_on(self, draws: tuple[str, ...], spares_allowed: bool = False) -> tuple[str, ...]:
        """Try the cheats that are left on each draw; says which draws killed one."""
        deadly = []
        for draw in draws:
            names = [n for n, s in self._on_trial.items() if not (spares_allowed and s.is_allowed)]
            if names and self._reference.accepts(self._shape, draw) and self._kills(draw, names):
                deadly.append(draw)
        return tuple(deadly)

    def has_survivors(self, kind: str) -> bool:
        left = [suspect for suspect in self._on_trial.values() if suspect.kind == kind]
        return any(suspect.verdict(self._copies).outcome is Outcome.SURVIVED for suspect in left)

    def trials(self) -> tuple[Trial, ...]:
        left = {name: suspect.verdict(self._copies) for name, suspect in self._on_trial.items()}
        return tuple((self._closed | left)[name] for name in self._names)

    def _kills(self, draw: str, names: list[str]) -> bool:
        before = len(self._closed)
        for name, result in self._results(draw, names).items():
            trial = self._on_trial[name].judge(result, self._k, draw)
            if trial is not None:
                self._close(trial)
        return any(trial.by == draw for trial in list(self._closed.values())[before:])

    def _results(self, draw: str, names: list[str]) -> dict[str, CheatResult]:
        """All at once; where that brings the reference down, one by one, to find who does."""
        if time.monotonic() > self._deadline:
            self._give_up(names, "the time for the certificate was up")
            return {}
        try:
            return self._reference.ask(TryCheats(self._shape, draw, tuple(names))).results
        except MachineError as error:
            self._reference.restart()
            if len(names) > 1:
                return {n: result for name in names for n, result in self._results(draw, [name]).items()}
            self._give_up(names, str(error))
            return {}

    def _give_up(self, names: list[str], why: str) -> None:
        for name in names:
            self._close(Trial(name, Outcome.UNTRIED, None, why))

    def _close(self, trial: Trial) -> None:
        self._closed[trial.cheat] = trial
        del self._on_trial[trial.cheat]


def _complaint(compared: Comparison, k: float, draw: str) -> str | None:
    """What a candidate with these outputs would be told, in one line; None if it would pass."""
    try:
        judgment = judge_comparison(compared, k, draw)
    except GateFailed as failed:
        return failed.reason
    if judgment.verdict is Verdict.PASSED:
        return None
    told = judgment.message.splitlines()[0]
    return told.replace(f" on the {draw} inputs", "").removeprefix("the output: ")


def _is_within(stats: OutputStatistics, k: float) -> bool:
    """Whether the budget would hold without being widened because few elements carry PyTorch's error."""
    if isinstance(stats, ExactStatistics):
        return True
    norm, peak = allowance(replace(stats, effective=math.inf), k)
    return stats.relative <= norm and stats.max_relative <= peak


def _closest(outputs: tuple[OutputStatistics, ...], k: float) -> str:
    """The numbers of the output that came nearest to being caught."""
    floats = [stats for stats in outputs if isinstance(stats, FloatStatistics)]
    if not floats:
        return "no integer differs"
    worst = max(floats, key=lambda stats: stats.relative / allowance(stats, k)[0])
    return f"relative error {worst.relative:.2g}, allowed is {allowance(worst, k)[0]:.2g}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
