"""The playbook answers like any author: by the request alone, and always the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tilesmith.authors.playbook import PlaybookAuthor
from tilesmith.authors.protocol import RankedTunings
from tilesmith.forge.replies import extract_kernel
from tilesmith.judge import Judge
from tilesmith.playbook import find_match
from tilesmith.playbook.recipe import Declined, Match
from tilesmith.records import (
    STAGES,
    Attempt,
    AuthorRequest,
    Candidate,
    Evaluation,
    Phase,
    Prompt,
    Quantiles,
    Reply,
    StopReason,
    Survey,
    Timing,
    Verdict,
)

EXAMPLES = Path(__file__).parents[2] / "examples"
FIELDS = {
    "bottleneck", "optimization_method", "modification_plan", "expected_speedup", "implementation_complexity",
    "kernel_type", "fallback_strategy",
}  # fmt: skip


@pytest.fixture(scope="module")
def survey(judge: Judge) -> Survey:
    return judge.survey(EXAMPLES / "softmax.py")


def ask(request: AuthorRequest) -> Reply:
    progress: list[int] = []
    reply = PlaybookAuthor().answer(request, Prompt("", ""), progress.append)
    assert progress == [len(reply.text)]
    assert PlaybookAuthor().answer(request, Prompt("", ""), lambda _: None) == reply
    return reply


def attempt(source: str, number: int = 1, evaluation: Evaluation | None = None) -> Attempt:
    candidate = Candidate(number, source, None, number, Phase.SEED)
    return Attempt(candidate, evaluation or Evaluation(Verdict.PASSED, "", "normalization"), None, True, "", 0.0)


def timed(milliseconds: float) -> Evaluation:
    measure_kernel = Quantiles(milliseconds, milliseconds, milliseconds)
    timing = Timing("H200", measure_kernel, measure_kernel, None, None, {}, {}, {}, 10)
    return Evaluation(Verdict.PASSED, "", "normalization", timing=timing)


def first_seed(survey: Survey) -> str:
    return extract_kernel(ask(AuthorRequest(1, Phase.SEED, survey)).text)


def test_every_seed_is_another_variant(survey: Survey) -> None:
    seeds = [ask(AuthorRequest(k, Phase.SEED, survey, seed=k, seeds=4)) for k in range(1, 5)]
    assert all(seed.stop is StopReason.END for seed in seeds)
    assert len({extract_kernel(seed.text) for seed in seeds}) == 4
    assert all(seed.author == "playbook" and seed.usage.tokens == 0 for seed in seeds)


def test_seeds_beyond_its_variants_are_declined(survey: Survey) -> None:
    reply = ask(AuthorRequest(40, Phase.SEED, survey, seed=40, seeds=40))
    assert reply.stop is StopReason.DECLINED
    assert "seed 40" in reply.text


def test_an_analysis_is_the_object_a_model_would_send(survey: Survey) -> None:
    reply = ask(AuthorRequest(4, Phase.ANALYZE, survey, base=attempt(first_seed(survey))))
    found = json.loads(reply.text.removeprefix("```json\n").removesuffix("\n```"))
    assert set(found) == FIELDS
    assert found["implementation_complexity"] == "low"


def test_an_optimization_is_something_new_until_there_is_nothing_left(survey: Survey) -> None:
    base = attempt(first_seed(survey), evaluation=timed(100.0))
    tried: list[Attempt] = []
    while (
        reply := ask(AuthorRequest(5, Phase.OPTIMIZE, survey, base=base, history=tuple(tried)))
    ).stop is StopReason.END:
        tried.append(attempt(extract_kernel(reply.text), len(tried) + 2))
        assert len(tried) < 50
    assert len({base.candidate.source, *(one.candidate.source for one in tried)}) == len(tried) + 1
    assert len(tried) >= 3
    assert "no variant left" in reply.text


def test_where_nothing_is_timed_no_variant_is_tried(survey: Survey) -> None:
    reply = ask(AuthorRequest(5, Phase.OPTIMIZE, survey, base=attempt(first_seed(survey))))
    assert reply.stop is StopReason.DECLINED
    assert "nothing is timed here" in reply.text


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_changes_one_constant(survey: Survey, stage: str) -> None:
    blocked = next(
        source
        for k in range(1, 9)
        if "BLOCK_N = "
        in (source := extract_kernel(ask(AuthorRequest(k, Phase.SEED, survey, seed=k, seeds=8)).text))
    )
    base = blocked if stage == "block" else first_seed(survey)
    changed = extract_kernel(ask(AuthorRequest(9, Phase.STAGE, survey, base=attempt(base), stage=stage)).text)
    knob = {"grid": "ROWS = ", "block": "BLOCK_N = ", "memory": "NUM_WARPS = "}[stage]
    lines = [(line_of(base, name), line_of(changed, name)) for name in ("ROWS = ", "BLOCK_N = ", "NUM_WARPS = ")]
    assert [before for before, after in lines if before != after] == [line_of(base, knob)]


def line_of(source: str, start: str) -> str | None:
    return next((line for line in source.splitlines() if line.startswith(start)), None)


def test_a_stage_does_not_repeat_what_failed(survey: Survey) -> None:
    base = attempt(first_seed(survey))
    request = AuthorRequest(9, Phase.STAGE, survey, base=base, stage="memory")
    first = extract_kernel(ask(request).text)
    second = extract_kernel(ask(replace(request, history=(attempt(first, 2),))).text)
    assert len({base.candidate.source, first, second}) == 3
    third = ask(replace(request, history=(attempt(first, 2), attempt(second, 3))))
    assert third.stop is StopReason.DECLINED


@pytest.mark.parametrize("phase", [Phase.STAGE, Phase.REPAIR, Phase.REVISE])
def test_the_work_of_others_is_left_alone(survey: Survey, phase: Phase) -> None:
    foreign = attempt((EXAMPLES / "kernels" / "softmax.py").read_text())
    reply = ask(AuthorRequest(9, phase, survey, base=foreign, stage="grid" if phase is Phase.STAGE else None))
    assert reply.stop is StopReason.DECLINED
    assert "\n" not in reply.text


def test_a_kernel_of_its_own_that_fails_gets_the_next_tuning(survey: Survey) -> None:
    failed = Evaluation(Verdict.OUT_OF_MEMORY, "too large", "normalization")
    base = attempt(first_seed(survey), evaluation=failed)
    repaired = extract_kernel(ask(AuthorRequest(9, Phase.REPAIR, survey, base=base)).text)
    assert repaired != base.candidate.source


def test_at_the_roofline_there_is_nothing_left_to_try(survey: Survey) -> None:
    assert survey.roofline is not None
    floor = survey.roofline.floor_ms
    measure_kernel = Quantiles(floor, 1.01 * floor, 1.1 * floor)
    timing = Timing("H200", measure_kernel, measure_kernel, None, None, {}, {}, {}, 10)
    base = attempt(first_seed(survey), evaluation=Evaluation(Verdict.PASSED, "", "normalization", timing=timing))
    reply = ask(AuthorRequest(9, Phase.OPTIMIZE, survey, base=base))
    assert reply.stop is StopReason.DECLINED
    assert "nothing to gain" in reply.text


def test_a_task_without_recipe_is_declined_whatever_is_asked(judge: Judge, tmp_path: Path) -> None:
    task = tmp_path / "convolution.py"
    task.write_text(
        "import torch\n"
        "class Model(torch.nn.Conv2d):\n    pass\n"
        "def get_inputs():\n    return [torch.randn(2, 4, 16, 16)]\n"
        "def get_init_inputs():\n    return [4, 8, 3]\n"
    )
    survey = judge.survey(task)
    for phase in Phase:
        reply = ask(AuthorRequest(1, phase, survey))
        assert reply.stop is StopReason.KEEPS_PYTORCH
        first, *facts = reply.text.splitlines()
        assert "no recipe for convolutions of groups, or with few FLOPs for copying their images; " in first
        assert any(line.startswith("roofline: at least") for line in facts)


@dataclass
class OtherWayRound:
    """A tuner that says the last tuning is the fastest."""

    is_timed: bool = True
    asked: int = 0
    keeps_pytorch: str = ""

    def rank(self, survey: Survey, match: Match, tell: Callable[[str], None]) -> RankedTunings:
        self.asked += 1
        tell("compiling")
        return RankedTunings(match.tunings[::-1], self.is_timed, "5 tunings measured", 2.5, self.keeps_pytorch)


def test_with_a_tuner_the_first_seed_is_the_fastest_and_the_only_one(survey: Survey) -> None:
    author, told = PlaybookAuthor(tuner := OtherWayRound()), []
    seeds = [
        author.answer(
            AuthorRequest(k, Phase.SEED, survey, seed=k, seeds=3),
            Prompt("", ""),
            lambda n, line="": told.append(line),
        )
        for k in (1, 2, 3)
    ]
    match = find_match(survey)
    assert not isinstance(match, Declined)
    assert extract_kernel(seeds[0].text) == match.write(match.tunings[-1])
    assert (seeds[0].note, seeds[0].seconds, tuner.asked) == ("5 tunings measured", 2.5, 1)
    assert [seed.stop for seed in seeds[1:]] == [StopReason.DECLINED] * 2
    assert [seed.note for seed in seeds[1:]] == ["", ""]
    assert told[0] == "compiling"


def test_what_was_measured_is_not_varied_but_repaired_by_the_next_best(survey: Survey) -> None:
    author = PlaybookAuthor(OtherWayRound())

    def answer(phase: Phase, base: Attempt, stage: str | None = None) -> Reply:
        return author.answer(
            AuthorRequest(9, phase, survey, base=base, stage=stage), Prompt("", ""), lambda *_: None
        )

    match = find_match(survey)
    assert not isinstance(match, Declined)
    best = match.write(match.tunings[-1])
    for phase, stage in ((Phase.OPTIMIZE, None), (Phase.STAGE, "memory")):
        reply = answer(phase, attempt(best, evaluation=timed(100.0)), stage)
        assert reply.stop is StopReason.DECLINED
        assert "measured" in reply.text
    failed = Evaluation(Verdict.OUT_OF_MEMORY, "too large", "normalization")
    assert extract_kernel(answer(Phase.REPAIR, attempt(best, evaluation=failed)).text) == match.write(
        match.tunings[-2]
    )


def test_where_pytorch_was_measured_to_be_faster_no_kernel_is_written(survey: Survey) -> None:
    author = PlaybookAuthor(OtherWayRound(keeps_pytorch="its own operators take 1 ms here"))
    reply = author.answer(AuthorRequest(1, Phase.SEED, survey), Prompt("", ""), lambda *_: None)
    assert (reply.stop, reply.note) == (StopReason.KEEPS_PYTORCH, "5 tunings measured")
    first, *plan = reply.text.splitlines()
    assert first == "its own operators take 1 ms here"
    assert any(line.startswith("roofline: at least") for line in plan)
