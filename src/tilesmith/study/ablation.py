"""Phases on and off: what the analysis, more seeds and the tuning stages are worth, and whether that is chance.

    A  one seed, then analysis
    B  three seeds, the best, analysis only where that is slower than PyTorch
    C  one seed, no analysis

each with the tuning stages and without.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tilesmith.errors import UsageError
from tilesmith.forge.run_specification import RunSpecification
from tilesmith.forge.settings import ForgeSettings
from tilesmith.records import Phase
from tilesmith.runs.compared.significance import Groups, mean_difference, permutation_test
from tilesmith.runs.listing import ListedRun
from tilesmith.runs.summary import RunSummary
from tilesmith.study.experiment import PlannedRun, in_place, replayed
from tilesmith.study.story import best_seed
from tilesmith.study.study_author import Refusal, analysis_where_slow, everything

STAGE_CHOICES = {"both": (False, True), "on": (True,), "off": (False,)}
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Arm:
    """One way to run the forge."""

    name: str
    seeds: int
    rounds: int
    refusal: Refusal = everything

    def settings(self, stages: bool) -> ForgeSettings:
        """The playbook, where it is not the author, has no part in it."""
        chosen = "auto" if stages else "none"
        return ForgeSettings(seeds=self.seeds, rounds=self.rounds, stages=chosen, playbook=False, tuning_s=0.0)


ARMS = (Arm("A", 1, 1), Arm("B", 3, 1, analysis_where_slow), Arm("C", 1, 0))


@dataclass(frozen=True)
class ArmRun:
    """One run of one arm: its scores as they went, and why they did."""

    task: str
    arm: str
    stages: bool
    run: str
    passed: bool
    seed: float | None
    """Score of the best seed."""
    analyzed: float | None
    """Of the best kernel before the stages."""
    staged: tuple[float | None, ...]
    """Of every kernel that a stage brought, null for those that failed."""
    final: float | None
    why: str
    keeps_pytorch: bool = False

    @property
    def value(self) -> float:
        """What arms are compared by: the speedup, or where nothing was timed whether a kernel passed."""
        return 0.0 if not self.passed else 1.0 if self.final is None else self.final


@dataclass(frozen=True)
class ArmRow:
    """The runs of one arm on one task, shown by the one in the middle."""

    shown: ArmRun
    runs: int
    passed: int
    low: float
    high: float
    """The smallest and the largest value."""


@dataclass(frozen=True)
class ArmComparison:
    """Whether one way is better than another, over all tasks."""

    name: str
    difference: float
    """Of the mean values, first less second."""
    p: float
    """Permutation test within each task, two-sided."""
    least_p: float
    """The smallest that so few runs can give."""

    @property
    def conclusion(self) -> str:
        if self.p < SIGNIFICANT:
            return f"{'better' if self.difference > 0 else 'worse'}, beyond chance"
        few = self.least_p >= SIGNIFICANT
        return "too few runs to tell" if few else "no difference that could not be chance"


@dataclass(frozen=True)
class AblationStudy:
    author: str
    timed: bool
    """Otherwise values are 1 for a kernel that passed and 0 for none."""
    rows: tuple[ArmRow, ...]
    comparisons: tuple[ArmComparison, ...]
    runs: tuple[ArmRun, ...]


def place(arm: Arm, stages: bool, number: int) -> str:
    """The place of a run in the study."""
    return f"ablation {arm.name}{'+stages' if stages else ''} {number}"


def plan_ablation(
    specification: RunSpecification, count: int, stages: str, recorded: Sequence[ListedRun] | None = None
) -> list[PlannedRun]:
    """The runs of one task; where there are recorded ones, each repeats the one that had its place."""
    if count < 1:
        raise UsageError(f"--runs {count}: must be at least 1")
    if stages not in STAGE_CHOICES:
        raise UsageError(f"--stages {stages}: use {', '.join(STAGE_CHOICES)}")
    by_place = {run.manifest.study: run for run in recorded if run.manifest} if recorded is not None else None
    plans = []
    for number in range(1, count + 1):
        for arm in ARMS:
            for staged in STAGE_CHOICES[stages]:
                wanted = replace(specification, settings=arm.settings(staged))
                plans.append(PlannedRun(_placed(wanted, place(arm, staged, number), by_place), arm.refusal))
    return plans


def _placed(wanted: RunSpecification, study: str, recorded: Mapping[str, ListedRun] | None) -> RunSpecification:
    if recorded is None:
        return in_place(wanted, study)
    if study not in recorded:
        raise UsageError(f"--replay: no run of {wanted.task} has the place '{study}'; ask for what was recorded")
    return in_place(wanted, study, replayed(recorded[study]))


def read_arm_run(study: str, run: str, summary: RunSummary) -> ArmRun:
    """A run by the place that it had in the study."""
    arm, _, staged = study.split()[1].partition("+")
    seed, ended = best_seed(summary), summary.finished
    before = [one for one in summary.attempts if one.candidate.stage is None and one.kept]
    return ArmRun(
        task=summary.survey.task if summary.survey else "unknown",
        arm=arm,
        stages=bool(staged),
        run=run,
        passed=ended is not None and ended.best is not None,
        seed=seed.score if seed else None,
        analyzed=before[-1].score if before else None,
        staged=tuple(one.score for one in summary.attempts if one.candidate.phase is Phase.STAGE),
        final=summary.score,
        why="; ".join(_reasons(summary, bool(staged))),
        keeps_pytorch=ended is not None and ended.keeps_pytorch,
    )


def _reasons(summary: RunSummary, stages: bool) -> Iterable[str]:
    """What the analysis did and what the stages did; or why there is no kernel."""
    if summary.best is None:
        yield summary.finished.why if summary.finished else "the run has not ended"
        return
    if summary.analyses:
        yield _analysis_reason(summary)
    if stages:
        told = [one.why for one in summary.decisions if one.about.startswith("stage")]
        told += [one.why for one in summary.attempts if one.candidate.phase is Phase.STAGE]
        told += [one.problem for one in summary.refusals if one.phase is Phase.STAGE]
        yield f"stages: {', '.join(dict.fromkeys(told)) or 'none was tried'}"


def _analysis_reason(summary: RunSummary) -> str:
    found = summary.analyses[-1]
    if found.analysis is None:
        return f"analysis: {found.problem or 'of no use'}"
    seeding = (Phase.SEED, Phase.STAGE)
    attempts = [one for one in summary.attempts if one.candidate.phase not in seeding]
    if any(one.kept for one in attempts):
        return f"analysis: {found.analysis.method}"
    refused = [one.problem for one in summary.refusals if one.phase is Phase.OPTIMIZE]
    why = attempts[-1].why if attempts else refused[-1] if refused else "no kernel came of it"
    return f"analysis gained nothing: {why}"


def study_ablation(author: str, runs: Sequence[ArmRun]) -> AblationStudy:
    groups: dict[tuple[str, str, bool], list[ArmRun]] = {}
    for run in runs:
        groups.setdefault((run.task, run.arm, run.stages), []).append(run)
    timed = any(run.final is not None for run in runs)
    rows = tuple(_row(group) for _, group in sorted(groups.items()))
    return AblationStudy(author, timed, rows, tuple(_comparisons(runs)), tuple(runs))


def _row(group: Sequence[ArmRun]) -> ArmRow:
    ordered = sorted(group, key=lambda run: run.value)
    middle, passed = ordered[(len(ordered) - 1) // 2], sum(run.passed for run in group)
    return ArmRow(middle, len(group), passed, ordered[0].value, ordered[-1].value)


def _comparisons(runs: Sequence[ArmRun]) -> Iterable[ArmComparison]:
    """Analysis and seeds without stages where there are such runs; the stages within each arm."""
    with_stages = all(run.stages for run in runs)
    for first, second in (("A", "C"), ("B", "A"), ("B", "C")):
        strata = _strata(runs, (first, with_stages), (second, with_stages))
        yield from _compared(f"{first} against {second}", strata)
    for arm in ARMS:
        strata = _strata(runs, (arm.name, True), (arm.name, False))
        yield from _compared(f"{arm.name} with stages against without", strata)


def _strata(runs: Sequence[ArmRun], first: tuple[str, bool], second: tuple[str, bool]) -> list[Groups]:
    """Both sides of every task that has both."""
    strata: list[Groups] = []
    for task in dict.fromkeys(run.task for run in runs):
        here = [run for run in runs if run.task == task]
        one, other = ([run.value for run in here if (run.arm, run.stages) == side] for side in (first, second))
        if one and other:
            strata.append((one, other))
    return strata


def _compared(name: str, strata: Sequence[Groups]) -> Iterable[ArmComparison]:
    if strata:
        deals = math.prod(math.comb(len(first) + len(second), len(first)) for first, second in strata)
        p, least_p = permutation_test(strata), min(1.0, 2 / deals)
        yield ArmComparison(name, round(mean_difference(strata), 6), round(p, 6), round(least_p, 6))
