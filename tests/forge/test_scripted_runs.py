"""Whole runs that replay each script made from the field reports: real command line, real HTTP, real judge."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scripted_run import CANARY, SCRIPTED_RUNS, ScriptedRun, run_script

from tilesmith.records import CallEvent, Phase, RefusalEvent, Verdict
from tilesmith.runs.manifest import read_manifest

NAMES = sorted(folder.name for folder in SCRIPTED_RUNS.iterdir())
CONFIRMED = ("gru_rescued_by_analysis", "stage_makes_it_worse")
"""Scripts run to their very end; the others leave the confirmation out, to save time."""


LEFT_TO_TEST_ALL = {
    "batch_only_grid_sent_back",
    "gru_rescued_by_analysis",
    "h_prev_indexing_repaired",
    "low_takes_every_stage",
    "medium_with_care",
    "persistent_stages_skipped",
    "prose_then_kernel",
    "truncated_then_brief",
    "vgg_bad_and_good_seed",
}
"""Each takes a path of the loop that `test_loop.py` takes with kernels that carry their verdicts."""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow_suite) if n in LEFT_TO_TEST_ALL else n for n in NAMES]
)
def test_scripted_run(tmp_path: Path, name: str) -> None:
    run = run_script(name, tmp_path, () if name in CONFIRMED else ("--no-confirm",))
    assert run.code == (1 if name == "nothing_passes" else 0), run.stderr
    every_reply_is_used_and_gets_its_verdict(run, SCRIPTED_RUNS / name)
    the_folder_tells_it_all(run)
    no_key_is_written_anywhere(run)
    EXPECTATIONS[name](run)


def every_reply_is_used_and_gets_its_verdict(run: ScriptedRun, script: Path) -> None:
    assert [entry.status for entry in run.served] == [200] * len(run.served), "the script answers all"
    scripted = {file.stem for file in script.glob("*.md")}
    assert set(run.replies) == scripted, "nothing is asked for that the script does not have, nothing is left"
    for expected in json.loads((script / "expected.json").read_text()):
        evaluation = run.attempt_of(expected["reply"]).evaluation
        warnings = [one.id for one in evaluation.findings if one.severity == "warning"]
        assert (evaluation.verdict, evaluation.kernel_type, evaluation.complexity, sorted(set(warnings))) == (
            expected["verdict"],
            expected["kernel_type"],
            expected["complexity"],
            sorted(set(expected["findings"])),
        ), expected["reply"]


def the_folder_tells_it_all(run: ScriptedRun) -> None:
    folder = run.folder
    assert read_manifest(folder).status == "finished"
    assert len(list((folder / "kernels").iterdir())) == len(run.attempts)
    replies = [event.reply for event in run.events if isinstance(event, CallEvent)]
    assert len(list((folder / "llm").glob("*.reply.md"))) == len(replies)
    assert len([one for one in replies if one.author != "playbook"]) == len(run.served)
    assert (folder / "log.txt").read_text().strip()
    assert (folder / "best.py").exists() == (run.document["best"] is not None)
    assert run.document["calls"] == len(replies)
    assert {one.candidate.author for one in run.attempts} <= {"playbook", "scripted"}


def no_key_is_written_anywhere(run: ScriptedRun) -> None:
    assert run.served[0].authorization == f"Bearer {CANARY}", "it was sent"
    for file in filter(Path.is_file, run.folder.rglob("*")):
        assert CANARY.encode() not in file.read_bytes(), file
    assert CANARY not in run.stdout + run.stderr


def a_bad_and_a_good_seed(run: ScriptedRun) -> None:
    good = run.attempt_of("seed-2")
    assert good.kept
    assert "direct-convolution" in [one.id for one in run.attempt_of("seed-1").evaluation.findings]
    assert run.attempt_of("optimize-1").candidate.parent == good.candidate.number


def the_rescue_by_analysis(run: ScriptedRun) -> None:
    verdicts = [one.evaluation.verdict for one in run.attempts if one.candidate.phase in ("optimize", "repair")]
    assert verdicts == [Verdict.COMPILE_ERROR, Verdict.COMPILE_ERROR, Verdict.PASSED]
    assert run.document["best"] == run.attempt_of("repair-2").candidate.number
    assert set(run.decisions) >= {"stage grid", "stage block", "stage memory"}


def winograd_fails_and_falls_back(run: ScriptedRun) -> None:
    assert run.replies == ["seed-1", "analyze-1", "optimize-1", "repair-1", "repair-2", "optimize-2"]
    assert "fallback in round 1" in run.decisions
    assert run.document["best"] == run.attempt_of("optimize-2").candidate.number


def the_two_classics_are_repaired(run: ScriptedRun) -> None:
    assert [one.evaluation.verdict for one in run.attempts] == [Verdict.COMPILE_ERROR, Verdict.PASSED]
    prompt = (run.folder / "llm" / "0002.prompt.md").read_text()
    assert run.attempts[0].evaluation.reason in prompt


def a_missed_plan_is_sent_back(run: ScriptedRun) -> None:
    assert [one.candidate.phase for one in run.attempts] == [Phase.SEED, Phase.REVISE]
    lesson = run.attempts[0].evaluation.findings[0].id
    assert lesson in ("time-loop-on-host", "grid-batch-only")
    assert lesson in (run.folder / "llm" / "0002.prompt.md").read_text()
    assert run.document["best"] == 2


def stages_are_skipped_for_a_persistent_kernel(run: ScriptedRun) -> None:
    assert run.replies == ["seed-1"]
    assert all("skipped" in run.decisions[f"stage {stage}"] for stage in ("grid", "block", "memory"))


def a_persistent_kernel_gets_its_wrong_grid_fixed(run: ScriptedRun) -> None:
    assert run.replies == ["seed-1", "revise-1", "stage-grid-1"]
    assert run.document["best"] == run.attempt_of("stage-grid-1").candidate.number


def a_stage_that_makes_it_worse_is_dropped(run: ScriptedRun) -> None:
    worse = run.attempt_of("stage-block-1")
    assert worse.evaluation.verdict is not Verdict.PASSED
    assert not worse.kept
    assert run.attempt_of("stage-memory-1").candidate.parent != worse.candidate.number
    assert run.attempts[run.document["best"] - 1].evaluation.passed


def a_cheat_is_dropped(run: ScriptedRun) -> None:
    assert run.attempt_of("seed-1").evaluation.verdict is Verdict.CHEATING
    assert run.document["best"] == run.attempt_of("seed-2").candidate.number


def nothing_passes_and_the_run_says_so(run: ScriptedRun) -> None:
    assert run.document["best"] is None
    assert "no kernel passed" in run.document["why"]


def a_useless_reply_is_asked_for_once_more(run: ScriptedRun) -> None:
    assert run.replies == ["seed-1", "seed-1-again"]
    assert [type(event) for event in run.events].count(RefusalEvent) == 1


def a_malformed_analysis_is_worked_around(run: ScriptedRun) -> None:
    assert run.replies == ["seed-1", "analyze-1", "analyze-1-again", "optimize-1"]
    assert "analysis of round 1" in run.decisions
    assert run.attempt_of("optimize-1").kept


def every_stage_is_tried(run: ScriptedRun) -> None:
    assert run.replies == ["seed-1", "stage-grid-1", "stage-block-1", "stage-memory-1"]


def stages_are_tried_with_care(run: ScriptedRun) -> None:
    every_stage_is_tried(run)
    assert run.attempts[0].evaluation.complexity == "medium"
    careful = (run.folder / "llm" / "0002.prompt.md").read_text()
    assert "care" in careful


def the_playbooks_seed_is_improved(run: ScriptedRun) -> None:
    seed, better = run.attempts
    assert (seed.candidate.author, seed.candidate.phase, seed.evaluation.launches) == ("playbook", Phase.SEED, 2)
    assert (better.candidate.author, better.candidate.parent, better.evaluation.launches) == ("scripted", 1, 1)
    assert run.document["best"] == better.candidate.number
    seeding = next(event for event in run.events if isinstance(event, CallEvent))
    assert seeding.reply.usage.tokens == 0
    for number in (2, 3):
        prompt = (run.folder / "llm" / f"{number:04}.prompt.md").read_text()
        assert "## What an expert system would do" in prompt
        assert "relu" in prompt.partition("## What an expert system would do")[2].partition("## ")[0]


EXPECTATIONS = {
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
    "playbook_seed_improved": the_playbooks_seed_is_improved,
    "prose_then_kernel": a_useless_reply_is_asked_for_once_more,
    "runtime_arange_repaired": the_two_classics_are_repaired,
    "stage_makes_it_worse": a_stage_that_makes_it_worse_is_dropped,
    "truncated_then_brief": a_useless_reply_is_asked_for_once_more,
    "vgg_bad_and_good_seed": a_bad_and_a_good_seed,
    "winograd_falls_back": winograd_fails_and_falls_back,
}
