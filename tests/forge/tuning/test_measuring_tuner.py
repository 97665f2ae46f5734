"""The tuner with the real compiler in real children; only the clock at the far end is ours."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from written_parts import GRAPH, KnownTimes, WrittenParts, part, tuning

from tilesmith.authors.protocol import RankedTunings
from tilesmith.errors import MachineError
from tilesmith.forge.tuning.tuner import MeasuringTuner
from tilesmith.judge import Judge
from tilesmith.judge.trials import CompiledTrial, KernelTrials
from tilesmith.playbook import find_match
from tilesmith.playbook.recipe import Declined, Match
from tilesmith.playbook.tuning import find_tuning
from tilesmith.records import Survey

TASK = Path(__file__).parents[3] / "examples" / "softmax.py"


@dataclass
class Timed:
    """Real trials with times of our own."""

    real: KernelTrials
    time: Callable[[str], float | None]
    is_timed: bool = True

    def compile(self, texts: Sequence[str], limit_s: float) -> list[CompiledTrial]:
        return self.real.compile(texts, limit_s)

    def time_ms(self, text: str, calls: int) -> float | None:
        return self.time(text)


@pytest.fixture(scope="module")
def survey(judge: Judge) -> Survey:
    """As on a GPU, far from the floor."""
    found = judge.survey(TASK)
    return replace(found, device="cuda", roofline=None)


@pytest.fixture(scope="module")
def match(survey: Survey) -> Match:
    found = find_match(survey)
    assert not isinstance(found, Declined)
    return found


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def rank(judge: Judge, survey: Survey, match: Match, time: Callable[[str], float | None]) -> RankedTunings:
    told: list[str] = []

    @contextlib.contextmanager
    def trials() -> Iterator[Timed]:
        with judge.trials(TASK) as real:
            yield Timed(real, time)

    ranked = MeasuringTuner(trials, 1000.0).rank(survey, match, told.append)
    assert not told or told[0] == "compiling"
    return ranked


def few_warps_are_fast(match: Match) -> Callable[[str], float]:
    def time(text: str) -> float:
        if "@triton.jit" not in text:
            return 99.0
        found = find_tuning(match, text)
        assert found is not None, "every text is one of this match"
        return 1.0 + found["NUM_WARPS"]

    return time


def test_the_fastest_comes_first_and_the_second_run_is_from_the_cache(
    judge: Judge, survey: Survey, match: Match
) -> None:
    first = rank(judge, survey, match, few_warps_are_fast(match))
    assert first.is_timed
    assert first.tunings[0]["NUM_WARPS"] < min(one["NUM_WARPS"] for one in match.tunings), "a neighbor was tried"
    assert "tunings measured" in first.note

    def nobody(text: str) -> float:
        raise AssertionError("it is known")

    second = rank(judge, survey, match, nobody)
    assert second.note == "tuning from cache"
    assert second.tunings[0] == first.tunings[0]
    assert set(match.tunings) <= set(second.tunings)


def test_without_a_gpu_the_compiler_alone_decides(judge: Judge, survey: Survey, match: Match) -> None:
    tuner = MeasuringTuner(lambda: judge.trials(TASK), 1000.0)
    for _ in range(2):
        ranked = tuner.rank(replace(survey, device="cpu"), match, lambda _: None)
        assert not ranked.is_timed
        assert ranked.note == "tuned by the compiler alone", "nothing is claimed, and nothing kept"
        assert ranked.tunings[0] == match.tunings[0]


def test_a_machine_that_fails_leaves_the_first_guess(survey: Survey, match: Match) -> None:
    @contextlib.contextmanager
    def trials() -> Iterator[Timed]:
        raise MachineError("the GPU is gone")
        yield

    ranked = MeasuringTuner(trials, 1000.0).rank(survey, match, lambda _: None)
    assert ranked.tunings == match.tunings
    assert ranked.note == "not tuned: the GPU is gone"


def test_where_pytorch_is_faster_it_is_kept_with_numbers(judge: Judge, survey: Survey, match: Match) -> None:
    def time(text: str) -> float:
        return 2.0 if "@triton.jit" in text else 1.5

    for _ in range(2):
        ranked = rank(judge, survey, match, time)
        assert ranked.keeps_pytorch.startswith("its own operators take 1.5 ms here, the fastest of ")
        assert ranked.keeps_pytorch.endswith(" tunings 2 ms")
    assert not rank(judge, survey, match, lambda text: 2.0 if "@triton.jit" in text else 1.96).keeps_pytorch


def test_how_kernels_are_launched_is_kept_in_the_cache(survey: Survey) -> None:
    match, trials = WrittenParts((part("a", 16), GRAPH)), KnownTimes(lambda found: 3.0 - len(found), pytorch_ms=9.0)
    tuner = MeasuringTuner(lambda: contextlib.nullcontext(trials), 1000.0)
    first = tuner.rank(survey, match, lambda _: None)
    assert first.tunings[0] == tuning(A_BLOCK=16, GRAPHS=4)
    trials.calls.clear()
    again = tuner.rank(survey, match, lambda _: None)
    assert (again.note, again.tunings[:2]) == ("tuning from cache", first.tunings[:2])
    assert not trials.calls
