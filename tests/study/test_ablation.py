"""An ablation over scripted replies: real run folders, the real loop, no LLM and no judge."""

from __future__ import annotations

from pathlib import Path

import pytest
from marked_equipment import MarkedEquipment, Replies, made, specification
from marked_kernels import MarkedEvaluator, analysis, kernel

from tilesmith.errors import UsageError
from tilesmith.runs.listing import list_runs
from tilesmith.study.ablation import AblationStudy, ArmRun, plan_ablation, read_arm_run, study_ablation
from tilesmith.study.ablation_table import ablation_markdown
from tilesmith.study.experiment import PlannedRun, recorded_runs

STAGES: Replies = {
    "stage grid": [kernel("passed 0.09", "f")],
    "stage block": [kernel("wrong_values", "g")],
    "stage memory": [kernel("passed 0.16", "h")],
    "repair": [kernel("wrong_values", "i")],
}
A: Replies = {
    "seed": [kernel("passed 0.1", "a")],
    "analyze": [analysis()],
    "optimize": [kernel("passed 1.4", "b")],
    **STAGES,
}
B: Replies = {"seed": [kernel("passed 0.1", "a"), kernel("passed 1.2", "c"), kernel("passed 0.7", "d")], **STAGES}
C: Replies = {"seed": [kernel("passed 0.1", "a")], **STAGES}


def studied(plans: list[PlannedRun], folder: Path, equipment: MarkedEquipment) -> AblationStudy:
    runs = made(plans, folder, equipment)
    pairs = zip(plans, runs, strict=True)
    return study_ablation("list", [read_arm_run(plan.specification.study, *run) for plan, run in pairs])


@pytest.fixture
def study(tmp_path: Path) -> AblationStudy:
    plans = plan_ablation(specification(tmp_path), 4, "both")
    return studied(plans, tmp_path / "runs", MarkedEquipment([A, A, B, B, C, C] * 4))


def test_what_each_arm_does(study: AblationStudy) -> None:
    shown = {(row.shown.arm, row.shown.stages): row.shown for row in study.rows}
    assert [*shown] == [(arm, stages) for arm in "ABC" for stages in (False, True)]
    scores = {key: (run.seed, run.analyzed, run.staged, run.final) for key, run in shown.items()}
    assert scores["A", False] == (0.1, 1.4, (), 1.4)
    assert scores["A", True] == (0.1, 1.4, (0.09, None, 0.16), 1.4)
    assert scores["B", False] == (1.2, 1.2, (), 1.2)
    assert scores["C", False] == (0.1, 0.1, (), 0.1)
    assert scores["C", True] == (0.1, 0.1, (0.09, None, 0.16), 0.16)


def test_why(study: AblationStudy) -> None:
    why = {(row.shown.arm, row.shown.stages): row.shown.why for row in study.rows}
    assert why["A", False] == "analysis: fuse"
    assert why["B", False] == "analysis: not needed: the best kernel is at 1.20x already"
    assert why["A", True].startswith(
        "analysis: fuse; stages: slower than the best so far: 0.09x, best 1.40x, wrong_"
    )


def test_the_table_and_its_significance(study: AblationStudy) -> None:
    told = ablation_markdown(study)
    assert (
        "| relu | A + stages | 0.10x to 1.40x | 1.40x to 0.090x, failed, 0.16x | 1.40x | 1.40 to 1.40 | 4 of 4 |"
        in told
    )
    assert "| A against C | +1.3 | 0.0286 | better, beyond chance |" in told
    assert "| B against A | -0.2 | 0.0286 | worse, beyond chance |" in told
    assert "| A with stages against without | +0 | 1 | no difference that could not be chance |" in told


def test_the_analysis_is_optional_where_the_seeds_are_slow(tmp_path: Path) -> None:
    slow: Replies = {**A, "seed": [kernel("passed 0.1", "a"), kernel("passed 0.2", "c"), kernel("crashed", "d")]}
    plans = plan_ablation(specification(tmp_path), 1, "off")
    study = studied(plans, tmp_path / "runs", MarkedEquipment([A, slow, C]))
    assert [(run.seed, run.final) for run in study.runs] == [(0.1, 1.4), (0.2, 1.4), (0.1, 0.1)]
    assert {one.conclusion for one in study.comparisons} == {"too few runs to tell"}


def test_a_task_where_nothing_passes_and_nothing_is_timed(tmp_path: Path) -> None:
    failing: Replies = {"seed": [kernel("crashed", "a")], "repair": [kernel("crashed", "b")] * 9}
    equipment = MarkedEquipment([failing, C], MarkedEvaluator(timed=False))
    plans = [plan for plan in plan_ablation(specification(tmp_path), 2, "off") if " C " in plan.specification.study]
    study = studied(plans, tmp_path / "runs", equipment)
    assert [(run.passed, run.value) for run in study.runs] == [(False, 0.0), (True, 1.0)]
    told = ablation_markdown(study)
    assert "| relu | C |   |   | none |   | 1 of 2 | no kernel passed, of" in told
    assert "share of runs with a kernel" in told


def test_recorded_arms_are_repeated_by_their_place(tmp_path: Path) -> None:
    wanted = specification(tmp_path)
    first = studied(plan_ablation(wanted, 1, "both"), tmp_path / "runs", MarkedEquipment([A, A, B, B, C, C]))
    recorded = recorded_runs(tmp_path / "runs", wanted.task)
    again = studied(plan_ablation(wanted, 1, "both", recorded), tmp_path / "again", MarkedEquipment([]))
    assert [run.final for run in again.runs] == [run.final for run in first.runs]
    with pytest.raises(UsageError, match="has the place 'ablation A 2'"):
        plan_ablation(wanted, 2, "both", recorded)


def test_runs_that_are_there_are_not_made_again(tmp_path: Path) -> None:
    wanted, runs = specification(tmp_path), tmp_path / "runs"
    studied(plan_ablation(wanted, 1, "off"), runs, MarkedEquipment([A, B, C]))
    studied(plan_ablation(wanted, 1, "both"), runs, MarkedEquipment([A, B, C]))
    assert len(list_runs(runs)) == 6


def run_of(task: str, arm: str, final: float) -> ArmRun:
    return ArmRun(task, arm, True, "run", True, None, None, (), final, "")


def test_several_tasks_are_compared_within_each() -> None:
    runs = [
        run_of(task, arm, scale * final)
        for task, scale in (("x", 1), ("y", 10))
        for arm, final in (("A", 1.2), ("C", 1.0))
    ]
    (compared,) = study_ablation("list", runs).comparisons
    assert (compared.name, compared.difference, compared.p) == ("A against C", pytest.approx(1.1), 0.5)


@pytest.mark.parametrize(("count", "stages", "told"), [(0, "both", "--runs 0"), (1, "some", "--stages some")])
def test_wrong_use_of_an_ablation(tmp_path: Path, count: int, stages: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        plan_ablation(specification(tmp_path), count, stages)
