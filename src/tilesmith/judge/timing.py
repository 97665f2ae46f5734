"""Timing in rounds: candidate and every baseline take turns, so that a drifting clock hits them alike.

The candidate and the baselines live in different processes; turns are handed out here, one at a time, under the
GPU lock. The stopwatch runs in the child, and this side's own clock checks that it can be believed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tilesmith.config import CheckConfig
from tilesmith.errors import MachineError
from tilesmith.judge.sessions import CandidateSession, Failed, ReferenceSession
from tilesmith.judge.statistics import quantiles, speedup
from tilesmith.judge.values import judged
from tilesmith.records import Speedup, Timing, Verdict

BASELINES = ("eager", "graph", "compile")
_LEAST_ROUNDS = 5
_MOST_ROUNDS = 60
_TIGHT = 0.03
"""Stop when every interval is narrower than this share of its speedup."""
_COMPILE_S = 240.0
_CLOCK_SLACK_MS = 20.0


@dataclass
class _Samples:
    """Rounds of [device ms, call ms] of one contestant, and what this process's clock saw."""

    device: list[list[float]] = field(default_factory=list)
    call: list[list[float]] = field(default_factory=list)
    unexplained_ms: list[float] = field(default_factory=list)

    def add(self, samples: list[list[float]], wall_ms: float) -> None:
        self.device.append([max(float(device), 1e-6) for device, _ in samples])
        self.call.append([float(call) for _, call in samples])
        self.unexplained_ms.append(wall_ms - sum(self.call[-1]) - sum(self.device[-1]))


class Race:
    """One candidate against the baselines of its task."""

    def __init__(self, candidate: CandidateSession, reference: ReferenceSession, config: CheckConfig) -> None:
        self._candidate, self._reference, self._config = candidate, reference, config
        self._chance = random.Random(config.seed)
        self._notes: list[str] = []
        self._samples: dict[str, _Samples] = {}
        self._last_seed = 0

    def build_baselines(self) -> None:
        """Without the lock, because compiling takes long; the few calls it makes may disturb a timing nearby.

        Kept for the task's next candidate.
        """
        kinds = [kind for kind in BASELINES if self._built(kind)]
        self._samples = {kind: _Samples() for kind in ("candidate", *kinds)}

    def warm_up(self) -> None:
        inputs = self._reference.inputs("exact", "own")
        self._candidate.ask("prepare_timing", variant="exact", inputs=inputs)

    def run(self, device: str) -> Timing:
        """Rounds until the intervals are tight or the time is up. The caller holds the GPU alone."""
        deadline = time.monotonic() + self._config.timing_s
        calls = self._calls_per_round()
        rounds = 0
        speedups: dict[str, Speedup] = {}
        while rounds < _MOST_ROUNDS and (rounds < _LEAST_ROUNDS or time.monotonic() < deadline):
            self._round(calls)
            rounds += 1
            if rounds >= _LEAST_ROUNDS:
                speedups = self._speedups(lambda samples: samples.device)
                if all((s.high - s.low) < _TIGHT * s.value for s in speedups.values()):
                    break
        self._check_clock()
        return self._timing(device, speedups, rounds)

    def check_timed_output(self) -> None:
        """What the last timed call returned must be as right as what a checked call returned."""
        output = self._candidate.output_file()
        self._candidate.ask("timed_output", output=output)
        result = self._reference.ask("compare_timed", seed=self._last_seed, path=output)
        judgement = judged(result, self._config.k, "timed")
        if judgement.verdict is not Verdict.PASSED:
            raise Failed(judgement.verdict, judgement.message, judgement.errors)

    def _built(self, kind: str) -> bool:
        try:
            reason = self._reference.ask("baseline", timeout_s=_COMPILE_S, kind=kind)["reason"]
        except MachineError as error:
            self._reference.restart()
            reason = str(error)
        if reason:
            self._notes.append(f"no {kind} baseline: {reason}")
        return reason is None

    def _calls_per_round(self) -> int:
        """Short calls are repeated more often within a round."""
        samples, _ = self._turn("candidate", 3)
        slowest, _ = self._turn("eager", 2)
        longest = max(call for _, call in samples + slowest)
        return max(2, min(12, int(40 / max(longest, 0.1))))

    def _round(self, calls: int) -> None:
        names = list(self._samples)
        self._chance.shuffle(names)
        for name in names:
            self._samples[name].add(*self._turn(name, calls))

    def _turn(self, name: str, calls: int) -> tuple[list[list[float]], float]:
        seeds = [self._chance.randrange(1 << 30) for _ in range(calls)]
        began = time.monotonic()
        if name == "candidate":
            reply = self._candidate.ask("time", seeds=seeds)
            self._last_seed = seeds[-1]
            if len(reply["samples"]) != len(seeds):
                raise Failed(Verdict.CHEATING, "the candidate's process answered in place of the judge's code")
        else:
            reply = self._reference.ask("time", kind=name, seeds=seeds)
        return reply["samples"], (time.monotonic() - began) * 1e3

    def _speedups(self, clock: Callable[[_Samples], list[list[float]]]) -> dict[str, Speedup]:
        mine = clock(self._samples["candidate"])
        return {kind: speedup(clock(s), mine) for kind, s in self._samples.items() if kind != "candidate"}

    def _check_clock(self) -> None:
        """The candidate's stopwatch runs in its own process: it must fit into the time we saw pass."""
        mine, eager = self._samples["candidate"], self._samples["eager"]
        hidden = sorted(mine.unexplained_ms)[len(mine.unexplained_ms) // 2]
        usual = sorted(eager.unexplained_ms)[len(eager.unexplained_ms) // 2]
        if hidden < -1.0 or hidden > 2 * max(usual, 0.0) + _CLOCK_SLACK_MS:
            raise Failed(
                Verdict.CHEATING,
                f"its own clock leaves {hidden:.0f} ms of every round unexplained (PyTorch's: {usual:.0f} ms)",
            )

    def _timing(self, device: str, speedups: dict[str, Speedup], rounds: int) -> Timing:
        times = {kind: quantiles(_flat(s.device)) for kind, s in self._samples.items()}
        return Timing(
            device=device,
            candidate_ms=times["candidate"],
            eager_ms=times["eager"],
            graph_ms=times.get("graph"),
            compile_ms=times.get("compile"),
            call_ms={name: quantiles(_flat(s.call)) for name, s in self._samples.items()},
            speedup=speedups,
            call_speedup=self._speedups(lambda samples: samples.call),
            rounds=rounds,
            notes=tuple(self._notes),
        )


def _flat(rounds: list[list[float]]) -> list[float]:
    return [sample for samples in rounds for sample in samples]
