"""Whole runs that replay each story of the field reports: real command line, real HTTP, real judge."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from telling import CANARY, STORIES, Telling, tell

from tilesmith.records import Phase, Refused, Verdict
from tilesmith.runs.manifest import read_manifest

NAMES = sorted(folder.name for folder in STORIES.iterdir())


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> object:
    """Each story is told once, however many tests look at it."""

    @cache
    def once(name: str) -> Telling:
        return tell(name, tmp_path_factory.mktemp(name))

    return once


@pytest.mark.parametrize("name", NAMES)
def test_every_reply_is_used_and_gets_its_verdict(told, name: str) -> None:
    telling = told(name)
    assert telling.code == (1 if name == "nothing_passes" else 0), telling.stderr
    assert [entry.status for entry in telling.served] == [200] * len(telling.served), "the story answers all"
    scripted = {file.stem for file in (STORIES / name).glob("*.md")}
    assert set(telling.replies) == scripted, "nothing is asked for that the story does not have, nothing is left"
    for expected in json.loads((STORIES / name / "expected.json").read_text()):
        evaluation = telling.attempt_of(expected["reply"]).evaluation
        warnings = [one.id for one in evaluation.findings if one.severity == "warning"]
        assert (evaluation.verdict, evaluation.kernel_type, evaluation.complexity, sorted(set(warnings))) == (
            expected["verdict"],
            expected["kernel_type"],
            expected["complexity"],
            sorted(set(expected["findings"])),
        ), expected["reply"]


@pytest.mark.parametrize("name", NAMES)
def test_the_folder_tells_it_all(told, name: str) -> None:
    telling = told(name)
    folder = telling.folder
    assert read_manifest(folder).status == "finished"
    assert len(list((folder / "kernels").iterdir())) == len(telling.attempts)
    assert len(list((folder / "llm").glob("*.reply.md"))) == len(telling.served)
    assert (folder / "log.txt").read_text().strip()
    assert (folder / "best.py").exists() == (telling.document["best"] is not None)
    assert telling.document["calls"] == len(telling.served)


@pytest.mark.parametrize("name", NAMES)
def test_no_key_is_written_anywhere(told, name: str) -> None:
    telling = told(name)
    assert telling.served[0].authorization == f"Bearer {CANARY}", "it was sent"
    for file in filter(Path.is_file, telling.folder.rglob("*")):
        assert CANARY.encode() not in file.read_bytes(), file
    assert CANARY not in telling.stdout + telling.stderr


def phases(telling: Telling) -> list[str]:
    return [str(one.candidate.phase) for one in telling.attempts]


def test_a_bad_and_a_good_seed(told) -> None:
    telling = told("vgg_bad_and_good_seed")
    good = telling.attempt_of("seed-2")
    assert good.kept
    assert "direct-convolution" in [one.id for one in telling.attempt_of("seed-1").evaluation.findings]
    assert telling.attempt_of("optimise-1").candidate.parent == good.candidate.number


def test_the_rescue_by_analysis(told) -> None:
    telling = told("gru_rescued_by_analysis")
    verdicts = [one.evaluation.verdict for one in telling.attempts if one.candidate.phase in ("optimise", "repair")]
    assert verdicts == [Verdict.COMPILE_ERROR, Verdict.COMPILE_ERROR, Verdict.PASSED]
    assert telling.document["best"] == telling.attempt_of("repair-2").candidate.number
    assert {about for about in telling.decisions} >= {"stage grid", "stage block", "stage memory"}


def test_winograd_fails_and_falls_back(told) -> None:
    telling = told("winograd_falls_back")
    assert telling.replies == ["seed-1", "analyse-1", "optimise-1", "repair-1", "repair-2", "optimise-2"]
    assert "fallback in round 1" in telling.decisions
    assert telling.document["best"] == telling.attempt_of("optimise-2").candidate.number


@pytest.mark.parametrize("name", ["h_prev_indexing_repaired", "runtime_arange_repaired"])
def test_the_two_classics_are_repaired(told, name: str) -> None:
    telling = told(name)
    assert [one.evaluation.verdict for one in telling.attempts] == [Verdict.COMPILE_ERROR, Verdict.PASSED]
    prompt = (telling.folder / "llm" / "0002.prompt.md").read_text()
    assert telling.attempts[0].evaluation.reason in prompt


@pytest.mark.parametrize(
    ("name", "lesson"),
    [("host_time_loop_sent_back", "time-loop-on-host"), ("batch_only_grid_sent_back", "grid-batch-only")],
)
def test_a_missed_plan_is_sent_back(told, name: str, lesson: str) -> None:
    telling = told(name)
    assert phases(telling) == [Phase.SEED, Phase.REVISE]
    assert lesson in (telling.folder / "llm" / "0002.prompt.md").read_text()
    assert telling.document["best"] == 2


def test_stages_are_skipped_for_a_persistent_kernel(told) -> None:
    telling = told("persistent_stages_skipped")
    assert telling.replies == ["seed-1"]
    assert all("skipped" in telling.decisions[f"stage {stage}"] for stage in ("grid", "block", "memory"))


def test_a_persistent_kernel_gets_its_wrong_grid_fixed(told) -> None:
    telling = told("persistent_wrong_grid_fixed")
    assert telling.replies == ["seed-1", "revise-1", "stage-grid-1"]
    assert telling.document["best"] == telling.attempt_of("stage-grid-1").candidate.number


def test_a_stage_that_makes_it_worse_is_dropped(told) -> None:
    telling = told("stage_makes_it_worse")
    worse = telling.attempt_of("stage-block-1")
    assert worse.evaluation.verdict is not Verdict.PASSED
    assert not worse.kept
    assert telling.attempt_of("stage-memory-1").candidate.parent != worse.candidate.number
    assert telling.attempts[telling.document["best"] - 1].evaluation.passed


def test_a_cheat_is_dropped(told) -> None:
    telling = told("cheat_refused")
    assert telling.attempt_of("seed-1").evaluation.verdict is Verdict.CHEATING
    assert telling.document["best"] == telling.attempt_of("seed-2").candidate.number


def test_nothing_passes_and_the_run_says_so(told) -> None:
    telling = told("nothing_passes")
    assert telling.code == 1
    assert telling.document["best"] is None
    assert "no kernel passed" in telling.document["why"]


@pytest.mark.parametrize("name", ["prose_then_kernel", "truncated_then_brief"])
def test_a_useless_reply_is_asked_for_once_more(told, name: str) -> None:
    telling = told(name)
    assert telling.replies == ["seed-1", "seed-1-again"]
    assert [type(event) for event in telling.events].count(Refused) == 1
