"""Whole runs that replay each story of the field reports: real command line, real HTTP, real judge."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from telling import CANARY, STORIES, Telling, tell

from tilesmith.records import Phase, Refused, Verdict
from tilesmith.runs.manifest import read_manifest

NAMES = sorted(folder.name for folder in STORIES.iterdir())
CONFIRMED = ("gru_rescued_by_analysis", "stage_makes_it_worse")
"""Stories told to their very end; the others leave the confirmation out, to save time."""


@pytest.mark.parametrize("name", NAMES)
def test_story(tmp_path: Path, name: str) -> None:
    telling = tell(name, tmp_path, () if name in CONFIRMED else ("--no-confirm",))
    assert telling.code == (1 if name == "nothing_passes" else 0), telling.stderr
    every_reply_is_used_and_gets_its_verdict(telling, STORIES / name)
    the_folder_tells_it_all(telling)
    no_key_is_written_anywhere(telling)
    TELLING[name](telling)


def every_reply_is_used_and_gets_its_verdict(telling: Telling, story: Path) -> None:
    assert [entry.status for entry in telling.served] == [200] * len(telling.served), "the story answers all"
    scripted = {file.stem for file in story.glob("*.md")}
    assert set(telling.replies) == scripted, "nothing is asked for that the story does not have, nothing is left"
    for expected in json.loads((story / "expected.json").read_text()):
        evaluation = telling.attempt_of(expected["reply"]).evaluation
        warnings = [one.id for one in evaluation.findings if one.severity == "warning"]
        assert (evaluation.verdict, evaluation.kernel_type, evaluation.complexity, sorted(set(warnings))) == (
            expected["verdict"],
            expected["kernel_type"],
            expected["complexity"],
            sorted(set(expected["findings"])),
        ), expected["reply"]


def the_folder_tells_it_all(telling: Telling) -> None:
    folder = telling.folder
    assert read_manifest(folder).status == "finished"
    assert len(list((folder / "kernels").iterdir())) == len(telling.attempts)
    assert len(list((folder / "llm").glob("*.reply.md"))) == len(telling.served)
    assert (folder / "log.txt").read_text().strip()
    assert (folder / "best.py").exists() == (telling.document["best"] is not None)
    assert telling.document["calls"] == len(telling.served)


def no_key_is_written_anywhere(telling: Telling) -> None:
    assert telling.served[0].authorization == f"Bearer {CANARY}", "it was sent"
    for file in filter(Path.is_file, telling.folder.rglob("*")):
        assert CANARY.encode() not in file.read_bytes(), file
    assert CANARY not in telling.stdout + telling.stderr


def a_bad_and_a_good_seed(telling: Telling) -> None:
    good = telling.attempt_of("seed-2")
    assert good.kept
    assert "direct-convolution" in [one.id for one in telling.attempt_of("seed-1").evaluation.findings]
    assert telling.attempt_of("optimise-1").candidate.parent == good.candidate.number


def the_rescue_by_analysis(telling: Telling) -> None:
    verdicts = [one.evaluation.verdict for one in telling.attempts if one.candidate.phase in ("optimise", "repair")]
    assert verdicts == [Verdict.COMPILE_ERROR, Verdict.COMPILE_ERROR, Verdict.PASSED]
    assert telling.document["best"] == telling.attempt_of("repair-2").candidate.number
    assert set(telling.decisions) >= {"stage grid", "stage block", "stage memory"}


def winograd_fails_and_falls_back(telling: Telling) -> None:
    assert telling.replies == ["seed-1", "analyse-1", "optimise-1", "repair-1", "repair-2", "optimise-2"]
    assert "fallback in round 1" in telling.decisions
    assert telling.document["best"] == telling.attempt_of("optimise-2").candidate.number


def the_two_classics_are_repaired(telling: Telling) -> None:
    assert [one.evaluation.verdict for one in telling.attempts] == [Verdict.COMPILE_ERROR, Verdict.PASSED]
    prompt = (telling.folder / "llm" / "0002.prompt.md").read_text()
    assert telling.attempts[0].evaluation.reason in prompt


def a_missed_plan_is_sent_back(telling: Telling) -> None:
    assert [one.candidate.phase for one in telling.attempts] == [Phase.SEED, Phase.REVISE]
    lesson = telling.attempts[0].evaluation.findings[0].id
    assert lesson in ("time-loop-on-host", "grid-batch-only")
    assert lesson in (telling.folder / "llm" / "0002.prompt.md").read_text()
    assert telling.document["best"] == 2


def stages_are_skipped_for_a_persistent_kernel(telling: Telling) -> None:
    assert telling.replies == ["seed-1"]
    assert all("skipped" in telling.decisions[f"stage {stage}"] for stage in ("grid", "block", "memory"))


def a_persistent_kernel_gets_its_wrong_grid_fixed(telling: Telling) -> None:
    assert telling.replies == ["seed-1", "revise-1", "stage-grid-1"]
    assert telling.document["best"] == telling.attempt_of("stage-grid-1").candidate.number


def a_stage_that_makes_it_worse_is_dropped(telling: Telling) -> None:
    worse = telling.attempt_of("stage-block-1")
    assert worse.evaluation.verdict is not Verdict.PASSED
    assert not worse.kept
    assert telling.attempt_of("stage-memory-1").candidate.parent != worse.candidate.number
    assert telling.attempts[telling.document["best"] - 1].evaluation.passed


def a_cheat_is_dropped(telling: Telling) -> None:
    assert telling.attempt_of("seed-1").evaluation.verdict is Verdict.CHEATING
    assert telling.document["best"] == telling.attempt_of("seed-2").candidate.number


def nothing_passes_and_the_run_says_so(telling: Telling) -> None:
    assert telling.document["best"] is None
    assert "no kernel passed" in telling.document["why"]


def a_useless_reply_is_asked_for_once_more(telling: Telling) -> None:
    assert telling.replies == ["seed-1", "seed-1-again"]
    assert [type(event) for event in telling.events].count(Refused) == 1


def a_malformed_analysis_is_worked_around(telling: Telling) -> None:
    assert telling.replies == ["seed-1", "analyse-1", "analyse-1-again", "optimise-1"]
    assert "analysis of round 1" in telling.decisions
    assert telling.attempt_of("optimise-1").kept


def every_stage_is_tried(telling: Telling) -> None:
    assert telling.replies == ["seed-1", "stage-grid-1", "stage-block-1", "stage-memory-1"]


def stages_are_tried_with_care(telling: Telling) -> None:
    every_stage_is_tried(telling)
    assert telling.attempts[0].evaluation.complexity == "medium"
    careful = (telling.folder / "llm" / "0002.prompt.md").read_text()
    assert "care" in careful


TELLING = {
    "batch_only_grid_sent_back": a_missed_plan_is_sent_back,
    "cheat_refused": a_cheat_is_dropped,
    "gru_rescued_by_analysis": the_rescue_by_analysis,
    "h_prev_indexing_repaired": the_two_classics_are_repaired,
    "host_time_loop_sent_back": a_missed_plan_is_sent_back,
    "low_takes_every_stage": every_stage_is_tried,
    "malformed_analysis": a_malformed_analysis_is_worked_around,
    "medium_with_care": stages_are_tried_with_care,
    "nothing_passes": nothing_passes_and_the_run_says_so,
    "persistent_stages_skipped": stages_are_skipped_for_a_persistent_kernel,
    "persistent_wrong_grid_fixed": a_persistent_kernel_gets_its_wrong_grid_fixed,
    "prose_then_kernel": a_useless_reply_is_asked_for_once_more,
    "runtime_arange_repaired": the_two_classics_are_repaired,
    "stage_makes_it_worse": a_stage_that_makes_it_worse_is_dropped,
    "truncated_then_brief": a_useless_reply_is_asked_for_once_more,
    "vgg_bad_and_good_seed": a_bad_and_a_good_seed,
    "winograd_falls_back": winograd_fails_and_falls_back,
}
