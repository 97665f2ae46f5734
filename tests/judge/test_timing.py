"""The race: turns, intervals, and the ways in which a candidate's own stopwatch is not believed.

The contestants are stand-ins that answer with chosen numbers; on a GPU tests/gpu runs the real ones.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from tilesmith.config import CheckConfig
from tilesmith.errors import MachineError
from tilesmith.judge.sessions import Failed
from tilesmith.judge.timing import Race
from tilesmith.records import Verdict

FINE = {"kind": "float", "dtype": "float32", "numel": 4, "misplaced": 0, "effective": 1e9, "worst": []}
ERRORS = {"relative": 1e-7, "max_relative": 1e-7, "eager_relative": 1e-7, "eager_max_relative": 1e-7}
SIZES = {"max_abs": 1e-7, "mean_abs": 1e-8}


class Contestant:
    """Answers a timing request with fixed times, after really waiting for as long as it likes."""

    def __init__(self, device_ms: float, hidden_ms: float = 0.0) -> None:
        self.device_ms, self.hidden_ms = device_ms, hidden_ms
        self.seeds: list[int] = []

    def samples(self, seeds: list[int]) -> list[list[float]]:
        self.seeds += seeds
        time.sleep((2 * self.device_ms + self.hidden_ms) * len(seeds) / 1e3)
        return [[self.device_ms * (1 + 0.001 * (seed % 5)), self.device_ms] for seed in seeds]


class Candidate(Contestant):
    def ask(self, op: str, **arguments: Any) -> dict[str, Any]:
        return {"samples": self.samples(arguments["seeds"])} if op == "time" else {}

    def output_file(self) -> str:
        return "output"


class Reference:
    def __init__(self, relative: float = 1e-7, refuses: str | None = None) -> None:
        self.eager = Contestant(0.4)
        self.relative, self.refuses = relative, refuses
        self.restarted = 0
        self.compared_seed: int | None = None

    def inputs(self, *_: str) -> str:
        return "inputs"

    def restart(self) -> None:
        self.restarted += 1

    def ask(self, op: str, **arguments: Any) -> dict[str, Any]:
        if op == "baseline":
            if arguments["kind"] == self.refuses:
                raise MachineError("did not answer within 240 s")
            return {"reason": "cannot be captured" if arguments["kind"] == "graph" else None}
        if op == "time":
            return {"samples": self.eager.samples(arguments["seeds"])}
        self.compared_seed = arguments["seed"]
        return {"outputs": [FINE | ERRORS | SIZES | {"relative": self.relative}]}


def race(candidate: Candidate, reference: Reference) -> Race:
    made = Race(candidate, reference, CheckConfig(device="cpu", timing_s=1))  # type: ignore[arg-type]
    made.build_baselines()
    made.warm_up()
    return made


def test_a_candidate_twice_as_fast() -> None:
    candidate, reference = Candidate(0.2), Reference()
    timing = race(candidate, reference).run("a GPU")
    gain = timing.speedup["eager"]
    assert gain.low <= gain.value <= gain.high
    assert gain.value == pytest.approx(2.0, rel=0.02)
    assert set(timing.speedup) == {"eager", "compile"}
    assert timing.graph_ms is None
    assert any("cannot be captured" in note for note in timing.notes)
    assert len(set(candidate.seeds)) == len(candidate.seeds), "every timed call has inputs of its own"


def test_time_that_its_clock_does_not_show_is_cheating() -> None:
    with pytest.raises(Failed) as caught:
        race(Candidate(0.2, hidden_ms=20), Reference()).run("a GPU")
    assert caught.value.verdict is Verdict.CHEATING


def test_the_outputs_of_the_last_timed_call_are_compared() -> None:
    candidate, reference = Candidate(0.2), Reference()
    made = race(candidate, reference)
    made.run("a GPU")
    made.check_timed_output()
    assert reference.compared_seed == candidate.seeds[-1]


def test_wrong_outputs_in_timed_calls_fail() -> None:
    made = race(Candidate(0.2), Reference(relative=0.5))
    made.run("a GPU")
    with pytest.raises(Failed) as caught:
        made.check_timed_output()
    assert caught.value.verdict is Verdict.WRONG_VALUES


def test_a_baseline_that_hangs_costs_only_itself() -> None:
    reference = Reference(refuses="compile")
    timing = race(Candidate(0.2), reference).run("a GPU")
    assert reference.restarted == 1
    assert set(timing.speedup) == {"eager"}


def test_fewer_samples_than_calls_is_cheating() -> None:
    class Short(Candidate):
        def samples(self, seeds: list[int]) -> list[list[float]]:
            return super().samples(seeds)[:1]

    with pytest.raises(Failed) as caught:
        race(Short(0.2), Reference()).run("a GPU")
    assert caught.value.verdict is Verdict.CHEATING
