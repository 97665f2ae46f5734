"""Timing rounds: turns, intervals, and the ways in which a candidate's own stopwatch is not believed.

The contestants are stand-ins that answer with chosen numbers; on a GPU tests/gpu runs the real ones.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from tilesmith.config import CheckConfig
from tilesmith.errors import MachineError
from tilesmith.judge.gate_failed import GateFailed
from tilesmith.judge.gates.timing import TimingRounds, _are_tight
from tilesmith.process.protocol.candidate import RunManyCalls, TimeCalls, TimedCalls, WriteTimedOutput
from tilesmith.process.protocol.codec import Done
from tilesmith.process.protocol.comparison import Comparison, FloatStatistics
from tilesmith.process.protocol.reference import (
    BaselineBuilt,
    BuildBaseline,
    RunManyBaselineCalls,
    TimeBaseline,
    TimedBaseline,
)
from tilesmith.process.protocol.tensors import SharedMemory, TensorFile
from tilesmith.records import Speedup, Verdict


class Contestant:
    """Answers a timing request with fixed times, after really waiting for as long as it likes."""

    def __init__(self, device_ms: float, hidden_ms: float = 0.0) -> None:
        self.device_ms, self.hidden_ms = device_ms, hidden_ms
        self.seeds: list[int] = []

    def samples(self, seeds: tuple[int, ...]) -> tuple[tuple[float, float], ...]:
        self.seeds += seeds
        return tuple((self.device_ms * (1 + 0.001 * (seed % 5)), self.device_ms) for seed in seeds)

    def digests(self, seeds: tuple[int, ...]) -> tuple[tuple[tuple[float, float], ...], ...]:
        """Two calls per seed; the first sees the inputs of the next number."""
        return tuple(((float(number % 97), 100.0),) for seed in seeds for number in (seed + 1, seed))


class Candidate(Contestant):
    late_ms = 0.0
    launches_per_call = 1
    kept_seeds: tuple[int, ...] = ()

    def ask(self, request: Any) -> Any:
        if isinstance(request, RunManyCalls):
            time.sleep((self.device_ms + self.hidden_ms) * request.calls / 1e3)
        if isinstance(request, WriteTimedOutput):
            return SharedMemory(None)
        if not isinstance(request, TimeCalls):
            return Done()
        seeds, kept = request.seeds, request.kept
        self.kept_seeds += (seeds[kept // 2] + 1 - kept % 2,)
        late = (self.late_ms,) * len(seeds)
        launches = self.launches_per_call * 2 * len(seeds)
        return TimedCalls(self.samples(seeds), self.digests(seeds), late, launches)

    def output_file(self) -> str:
        return "output"


class Reference:
    k = 2.0

    def __init__(self, relative: float = 1e-7, refuses: str | None = None) -> None:
        self.eager = Contestant(0.4)
        self.relative, self.refuses = relative, refuses
        self.restarted, self.compiling = 0, threading.Lock()
        self.compared_seeds: list[int] = []
        self.single_draws: set[bool] = set()

    def accepts(self, *_: str) -> bool:
        return True

    def inputs(self, *_: str) -> TensorFile:
        return TensorFile("inputs")

    def restart(self) -> None:
        self.restarted += 1

    def ask(self, request: Any, timeout_s: float = 1.0) -> Any:
        self.single_draws.add(request.single_draw)
        match request:
            case BuildBaseline(kind) if kind == self.refuses:
                raise MachineError("did not answer within 240 s")
            case BuildBaseline(kind):
                return BaselineBuilt("cannot be captured" if kind == "graph" else None)
            case TimeBaseline(_, seeds):
                return TimedBaseline(self.eager.samples(seeds), self.eager.digests(seeds))
            case RunManyBaselineCalls(kind, _, calls):
                if kind is not None:
                    time.sleep((self.eager.device_ms + self.eager.hidden_ms) * calls / 1e3)
                return Done()
        self.compared_seeds.append(request.seed)
        errors = (self.relative, 1e-7, 1e-7, 1e-7)
        return Comparison((FloatStatistics("float", "float32", 4, 0, *errors, 1e-7, 1e-8, 1e9, ()),))


def timing_rounds(candidate: Candidate, reference: Reference, single_draw: bool = False) -> TimingRounds:
    config = CheckConfig(device="cpu", timing_s=1)
    made = TimingRounds(candidate, reference, config, single_draw)  # type: ignore[arg-type]
    made.build_baselines()
    made.warm_up()
    return made


def test_a_candidate_twice_as_fast() -> None:
    candidate, reference = Candidate(0.2), Reference()
    timing = timing_rounds(candidate, reference).run("a GPU")
    gain = timing.speedup["eager"]
    assert gain.low <= gain.value <= gain.high
    assert gain.value == pytest.approx(2.0, rel=0.02)
    assert set(timing.speedup) == {"eager", "compile"}
    assert timing.graph_ms is None
    assert any("cannot be captured" in note for note in timing.notes)
    assert len(set(candidate.seeds)) == len(candidate.seeds), "every timed call has inputs of its own"


@pytest.fixture
def few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many calls in every attempt, because here each takes real time."""
    monkeypatch.setattr("tilesmith.judge.gates.timing._OUTSIDE_MOST_MS", 0.0)


@pytest.mark.usefixtures("few_calls")
def test_time_that_its_clock_does_not_show_is_cheating() -> None:
    with pytest.raises(GateFailed) as caught:
        timing_rounds(Candidate(0.2, hidden_ms=0.6), Reference()).run("a GPU")
    assert caught.value.verdict is Verdict.CHEATING


def test_outputs_of_timed_calls_are_compared_and_nobody_knows_of_which() -> None:
    candidate, reference = Candidate(0.2), Reference()
    made = timing_rounds(candidate, reference)
    made.run("a GPU")
    made.check_timed_outputs()
    assert len(reference.compared_seeds) == 3, "of the first turn, of one between, and of the last"
    assert set(reference.compared_seeds) <= set(candidate.kept_seeds)


def test_where_memory_is_short_the_outputs_of_one_call_are_kept_and_any_may_be_the_one() -> None:
    candidate, reference = Candidate(0.2), Reference()
    made = timing_rounds(candidate, reference, single_draw=True)
    made.run("a GPU")
    made.check_timed_outputs()
    assert len(reference.compared_seeds) == 1
    assert reference.compared_seeds[0] in candidate.kept_seeds[2:], "of a round, not of the calls before them"


def test_wrong_outputs_in_timed_calls_fail() -> None:
    made = timing_rounds(Candidate(0.2), Reference(relative=0.5))
    made.run("a GPU")
    with pytest.raises(GateFailed) as caught:
        made.check_timed_outputs()
    assert caught.value.verdict is Verdict.WRONG_VALUES


def test_timed_calls_that_return_something_else_are_cheating() -> None:
    class Lazy(Candidate):
        """Every third call does nothing."""

        def digests(self, seeds: tuple[int, ...]) -> tuple[tuple[tuple[float, float], ...], ...]:
            right = super().digests(seeds)
            return tuple(((0.0, 50.0),) if i % 3 == 0 else one for i, one in enumerate(right))

    with pytest.raises(GateFailed) as caught:
        timing_rounds(Lazy(0.2), Reference()).run("a GPU")
    assert caught.value.verdict is Verdict.CHEATING
    assert "timed calls returned something else" in caught.value.reason


def test_work_that_goes_on_after_the_callers_stream_is_cheating() -> None:
    class Late(Candidate):
        late_ms = 0.5

    with pytest.raises(GateFailed) as caught:
        timing_rounds(Late(0.2), Reference()).run("a GPU")
    assert "side stream" in caught.value.reason


def test_timed_calls_without_launches_are_cheating() -> None:
    class Idle(Candidate):
        launches_per_call = 0

    with pytest.raises(GateFailed) as caught:
        timing_rounds(Idle(0.2), Reference()).run("a GPU")
    assert "some of them none at all" in caught.value.reason


def test_a_baseline_that_hangs_costs_only_itself() -> None:
    reference = Reference(refuses="compile")
    timing = timing_rounds(Candidate(0.2), reference).run("a GPU")
    assert reference.restarted == 1
    assert set(timing.speedup) == {"eager"}


def test_a_restarted_reference_is_told_again_how_many_draws_are_mixed() -> None:
    reference = Reference(refuses="compile")
    made = timing_rounds(Candidate(0.2), reference, single_draw=True)
    made.run("a GPU")
    made.check_timed_outputs()
    assert (reference.restarted, reference.single_draws) == (1, {True})


def test_fewer_samples_than_calls_is_cheating() -> None:
    class Short(Candidate):
        def samples(self, seeds: tuple[int, ...]) -> tuple[tuple[float, float], ...]:
            return super().samples(seeds)[:1]

    with pytest.raises(GateFailed) as caught:
        timing_rounds(Short(0.2), Reference()).run("a GPU")
    assert caught.value.verdict is Verdict.CHEATING


def test_a_machine_that_stalls_for_a_while_accuses_nobody() -> None:
    class Stalled(Candidate):
        stalls = 6

        def ask(self, request: Any) -> Any:
            if isinstance(request, RunManyCalls) and self.stalls:
                self.stalls -= 1
                time.sleep(0.5e-3 * request.calls)
            return super().ask(request)

    candidate = Stalled(0.2)
    timing_rounds(candidate, Reference()).run("a GPU")
    assert candidate.stalls == 0


def test_one_delay_counts_for_less_in_every_attempt() -> None:
    """Threads that wait for each other in the judge's own process delay it, not the kernel."""

    class Delayed(Candidate):
        attempts = 0

        def ask(self, request: Any) -> Any:
            if isinstance(request, RunManyCalls):
                self.attempts += 1
                time.sleep(0.1)
            return super().ask(request)

    candidate = Delayed(0.2)
    timing_rounds(candidate, Reference()).run("a GPU")
    assert candidate.attempts > 1


@pytest.mark.usefixtures("few_calls")
def test_an_accusation_needs_a_machine_on_which_pytorchs_own_clock_is_right() -> None:
    reference = Reference()
    reference.eager.hidden_ms = 0.6
    with pytest.raises(MachineError, match="too busy"):
        timing_rounds(Candidate(0.2, hidden_ms=0.6), reference).run("a GPU")


@pytest.mark.parametrize(
    ("best", "other", "is_late", "enough"),
    [
        (Speedup(1.1, 1.09, 1.12), Speedup(2.0, 1.95, 2.05), False, True),
        (Speedup(1.1, 1.06, 1.14), Speedup(2.0, 1.95, 2.05), False, False),
        (Speedup(1.1, 1.06, 1.14), Speedup(2.0, 1.95, 2.05), True, True),
        (Speedup(1.01, 0.98, 1.04), Speedup(2.0, 1.95, 2.05), True, False),
        (Speedup(1.1, 1.09, 1.12), Speedup(2.0, 1.8, 2.2), True, False),
    ],
    ids=["tight", "wide", "wide but decided", "undecided", "the other is too wide"],
)
def test_rounds_stop_when_the_best_baseline_is_known(
    best: Speedup, other: Speedup, is_late: bool, enough: bool
) -> None:
    assert _are_tight({"compile": best, "eager": other}, is_late) is enough


def test_where_speed_alone_is_asked_for_eager_is_the_only_baseline() -> None:
    config = CheckConfig(device="cpu", timing_s=1, speed_only=True)
    rounds = TimingRounds(Candidate(0.2), Reference(), config)  # type: ignore[arg-type]
    rounds.build_baselines()
    rounds.warm_up()
    assert set(rounds.run("a GPU").speedup) == {"eager"}
