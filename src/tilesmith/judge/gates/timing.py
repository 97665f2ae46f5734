"""Timing in rounds: candidate and every baseline take turns, so that a drifting clock hits them alike.

The candidate and the baselines live in different processes; turns are handed out here, one at a time, under the
GPU lock. The stopwatch runs in the child, and `judge/decisions/clock_checks.py` checks that it can be believed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tilesmith.config import CheckConfig
from tilesmith.errors import MachineError, OutOfGpuMemory
from tilesmith.judge.decisions.clock_checks import (
    DigestLog,
    refuse_empty_calls,
    refuse_late_work,
)
from tilesmith.judge.decisions.statistics import quantiles, speedup
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.judge.gates.values import judge_comparison
from tilesmith.judge.sessions import FORGED_REPLY, CandidateSession, ReferenceSession
from tilesmith.process.protocol.candidate import PrepareTiming, RunManyCalls, TimeCalls, WriteTimedOutput
from tilesmith.process.protocol.reference import (
    BuildBaseline,
    CompareTimedOutputs,
    RunManyBaselineCalls,
    TimeBaseline,
)
from tilesmith.process.protocol.tensors import TensorFile
from tilesmith.records import BASELINES, Speedup, Timing, Verdict

_LEAST_ROUNDS = 5
_MOST_ROUNDS = 60
_TIGHT, _CLEAR, _CLEAR_S = 0.03, 0.08, 0.3
"""Stop when the interval of the best baseline is narrower than the first share of its speedup, and those of the
others than the second. After so many seconds the second will do for all, if it is clear who is faster: others wait
for the GPU."""
_TURN_S = 0.03
_MOST_CALLS = 6
_COMPILE_S = 240.0
_OUTSIDE_MS, _OUTSIDE_MOST_MS = 40.0, 400.0
_OUTSIDE_CALLS = (8, 150)
_OUTSIDE_FACTOR = 1.5
_OUTSIDE_SLACK_MS = 0.1
_OUTSIDE_PAUSES_S = (0.0, 0.05, 0.1, 0.2)
"""Before each attempt, with twice the calls of the last: whatever stalls the machine must not accuse anybody."""
_MOST_TIMINGS = 4
_ENOUGH_DOUBTS = 2
"""So often the candidate's clock must be wrong while that of eager PyTorch is right, in timings of their own."""


Samples = tuple[tuple[float, float], ...]
"""Device ms and call ms of the calls of one turn."""


@dataclass
class _Samples:
    """Device ms and call ms of one contestant, round by round."""

    device: list[list[float]] = field(default_factory=list)
    call: list[list[float]] = field(default_factory=list)

    def add(self, samples: Samples) -> None:
        self.device.append([max(device, 1e-6) for device, _ in samples])
        self.call.append([call for _, call in samples])


@dataclass(frozen=True)
class _Kept:
    """The outputs of one timed call, and the seed of its inputs."""

    outputs: TensorFile
    seed: int


class TimingRounds:
    """One candidate against the baselines of its task."""

    def __init__(
        self,
        candidate: CandidateSession,
        reference: ReferenceSession,
        config: CheckConfig,
        single_draw: bool = False,
    ) -> None:
        """`single_draw`: timed inputs are made of one draw in place of two, and the outputs of one call are kept in
        place of three, to save memory."""
        self._candidate, self._reference, self._config = candidate, reference, config
        self._single_draw = single_draw
        self._chance = random.Random(config.seed)
        self._notes: list[str] = []
        self._samples: dict[str, _Samples] = {}
        self._digests = DigestLog()
        self._late_ms: list[float] = []
        self._kept_seed = 0
        self._kept: list[_Kept] = []

    def build_baselines(self) -> None:
        """Without the lock, because compiling takes long; the few calls it makes may disturb a timing nearby.

        Kept for the task's next candidate.
        """
        wanted = BASELINES[:1] if self._config.speed_only else BASELINES
        kinds = [kind for kind in wanted if self._built(kind)]
        self._samples = {kind: _Samples() for kind in ("candidate", *kinds)}

    def warm_up(self) -> None:
        has_second = not self._single_draw and self._reference.accepts("exact", "own again")
        inputs = self._reference.inputs("exact", "own")
        second = self._reference.inputs("exact", "own again") if has_second else None
        self._candidate.ask(PrepareTiming("exact", inputs, second))

    def run(self, device: str) -> Timing:
        """One that both clocks agree on. The caller holds the GPU alone.

        A busy machine makes clocks differ, too: then eager PyTorch's does, and all is measured again.
        """
        doubts: list[str] = []
        for _ in range(_MOST_TIMINGS):
            timing = self._measured(device)
            doubt = self._doubt("candidate", timing)
            if doubt is None:
                return timing
            if self._doubt("eager", timing) is None:
                doubts.append(doubt)
            if len(doubts) >= _ENOUGH_DOUBTS:
                raise GateFailed(Verdict.CHEATING, doubts[-1])
        raise MachineError("the machine is too busy to time a kernel: its clocks disagree on PyTorch as well")

    def _measured(self, device: str) -> Timing:
        """Rounds until the intervals are tight or the time is up."""
        self._samples = {name: _Samples() for name in self._samples}
        self._late_ms, self._kept = [], []
        began = time.monotonic()
        deadline = began + self._config.timing_s
        calls = self._calls_per_round()
        if not self._single_draw:
            self._keep()
        always_kept = len(self._kept)
        rounds = 0
        next_look = _LEAST_ROUNDS
        while rounds < _MOST_ROUNDS and (rounds < _LEAST_ROUNDS or time.monotonic() < deadline):
            self._round(calls)
            rounds += 1
            if self._chance.random() < 1 / rounds:  # any round is as likely as any other to be the one kept
                del self._kept[always_kept:]
                self._keep()
            if rounds >= next_look:  # looking takes time that others wait for
                next_look = rounds + max(1, rounds // 4)
                if _are_tight(self._device_speedups(), time.monotonic() - began > _CLEAR_S):
                    break
        speedups = self._device_speedups()
        if not self._single_draw:
            self._keep()
        timing = self._timing(device, speedups, rounds)
        refuse_late_work(self._late_ms, timing.candidate_ms.p50)
        self._digests.refuse_unknown_digests()
        return timing

    def check_timed_outputs(self) -> None:
        """What timed calls returned must be as right as what a checked call returned."""
        for kept in self._kept:
            compared = self._reference.ask(
                CompareTimedOutputs(kept.seed, kept.outputs.sent_once(), self._single_draw)
            )
            judgment = judge_comparison(compared, self._reference.k, "timed")
            if judgment.verdict is not Verdict.PASSED:
                raise GateFailed(judgment.verdict, judgment.message, judgment.errors)

    def _keep(self) -> None:
        """The one call of the last turn whose outputs were kept."""
        output = self._candidate.output_file()
        memory = self._candidate.ask(WriteTimedOutput(output)).memory
        self._kept.append(_Kept(TensorFile(output, memory), self._kept_seed))

    def _built(self, kind: str) -> bool:
        try:
            with self._reference.compiling:
                request = BuildBaseline(kind, self._single_draw)
                reason = self._reference.ask(request, timeout_s=_COMPILE_S).reason
        except OutOfGpuMemory:
            raise
        except MachineError as error:
            self._reference.restart()
            reason = str(error)
        if reason:
            self._notes.append(f"no {kind} baseline: {reason}")
        return reason is None

    def _calls_per_round(self) -> int:
        """Short calls are repeated more often within a round."""
        took: list[float] = []
        for _ in range(2):  # the first turns are slower than all that follow
            began = time.monotonic()
            self._turn("candidate", self._seeds(2))
            self._turn("eager", self._seeds(2))
            took.append((time.monotonic() - began) / 4)
        return max(2, min(_MOST_CALLS, int(_TURN_S / min(took))))

    def _round(self, calls: int) -> None:
        """All contestants see the same inputs."""
        names = list(self._samples)
        self._chance.shuffle(names)
        seeds = self._seeds(calls)
        for name in names:
            self._samples[name].add(self._turn(name, seeds))

    def _seeds(self, count: int) -> tuple[int, ...]:
        return tuple(self._seed() for _ in range(count))

    def _seed(self) -> int:
        return self._chance.randrange(1 << 30)

    def _turn(self, name: str, seeds: tuple[int, ...]) -> Samples:
        if name != "candidate":
            timed = self._reference.ask(TimeBaseline(name, seeds, self._single_draw))
            if name == "eager":
                self._digests.add_truth(seeds, timed.digests)
            return timed.samples
        kept = self._chance.randrange(2 * len(seeds))
        calls = self._candidate.ask(TimeCalls(seeds, kept))
        if len(calls.samples) != len(seeds):
            raise GateFailed(Verdict.CHEATING, FORGED_REPLY)
        self._kept_seed = seeds[kept // 2] + (1 if kept % 2 == 0 else 0)
        refuse_empty_calls(calls.launches, 2 * len(seeds))
        self._late_ms += calls.late_ms
        self._digests.add_claim(seeds, calls.digests)
        return calls.samples

    def _device_speedups(self) -> dict[str, Speedup]:
        return self._speedups(lambda samples: samples.device)

    def _speedups(self, clock: Callable[[_Samples], list[list[float]]]) -> dict[str, Speedup]:
        mine = clock(self._samples["candidate"])
        return {kind: speedup(clock(s), mine) for kind, s in self._samples.items() if kind != "candidate"}

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
            samples_ms={
                name: tuple(tuple(round(one, 6) for one in turn) for turn in s.device)
                for name, s in self._samples.items()
            },
        )

    def _doubt(self, name: str, timing: Timing) -> str | None:
        """Many calls in a row, timed from this process: a stopwatch that was tampered with does not fit."""
        claimed_ms = timing.call_ms[name].p50
        fewest, most = _OUTSIDE_CALLS
        calls = max(fewest, min(most, int(_OUTSIDE_MS / max(claimed_ms, 0.01))))
        bound = max(calls, int(_OUTSIDE_MOST_MS / max(claimed_ms, 0.01)))
        most_ms = _OUTSIDE_FACTOR * claimed_ms + _OUTSIDE_SLACK_MS
        seen_ms = 0.0
        for attempt, pause_s in enumerate(_OUTSIDE_PAUSES_S):
            time.sleep(pause_s)
            calls = min(calls << min(attempt, 1), bound)
            around_ms = self._wall_ms(None, calls)
            seen_ms = (self._wall_ms(name, calls) - around_ms) / calls
            if seen_ms <= most_ms:
                return None
        return f"its own clock says {claimed_ms:.3f} ms a call, the judge's clock sees {seen_ms:.3f} ms"

    def _wall_ms(self, name: str | None, calls: int) -> float:
        """How long so many calls take, seen from here."""
        seed, began = self._seed(), time.monotonic()
        if name == "candidate":
            self._candidate.ask(RunManyCalls(seed, calls))
        else:
            self._reference.ask(RunManyBaselineCalls(name, seed, calls, self._single_draw))
        return (time.monotonic() - began) * 1e3


def _are_tight(speedups: dict[str, Speedup], is_late: bool) -> bool:
    widths = {kind: (one.high - one.low) / one.value for kind, one in speedups.items()}
    best = min(speedups, key=lambda kind: speedups[kind].value)
    is_decided = not speedups[best].low <= 1 <= speedups[best].high
    return max(widths.values()) < _CLEAR and (widths[best] < _TIGHT or (is_late and is_decided))


def _flat(rounds: list[list[float]]) -> list[float]:
    return [sample for samples in rounds for sample in samples]
