"""Many seeds of one task: how good first versions are, and what the good ones have that the bad ones lack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from tilesmith.errors import UsageError
from tilesmith.forge.run_specification import RunSpecification
from tilesmith.forge.settings import ForgeSettings
from tilesmith.records import Phase, Verdict
from tilesmith.runs.compared.significance import fisher_test
from tilesmith.runs.event_text import machine_text, score_text
from tilesmith.runs.listing import ListedRun
from tilesmith.runs.summary import RunSummary
from tilesmith.study.experiment import PlannedRun, in_place, replayed
from tilesmith.study.features import code_features
from tilesmith.study.markdown import bullets, plain, table
from tilesmith.study.study_author import seeds_alone

SETTINGS = ForgeSettings(
    seeds=1, rounds=0, repairs=0, spare_repairs=0, tuning_s=0.0, stages="none", confirm=False, playbook=False
)
"""A seed and nothing after it."""
BINS = ((0.2, "0-0.2"), (0.5, "0.2-0.5"), (0.8, "0.5-0.8"), (1.0, "0.8-1.0"))
"""Upper ends, which do not belong to their bins, and names."""
ABOVE, UNTIMED, FAILED = "1.0 and above", "passed, not timed", "failed"
CATEGORIES = (FAILED, *(name for _, name in BINS), ABOVE, UNTIMED)
GOOD = 0.8
"""A timed seed is good from here on; one that was not timed, when it passed."""
MOST_FEATURES = 12


@dataclass(frozen=True)
class SeedOutcome:
    """One seed, judged."""

    run: str
    verdict: str | None
    """Null where the reply had no kernel in it."""
    why: str
    score: float | None
    features: tuple[str, ...]
    keeps_pytorch: bool = False

    @property
    def category(self) -> str:
        """Its bin, or why it is in none."""
        if self.verdict != Verdict.PASSED:
            return FAILED
        if self.score is None:
            return UNTIMED
        return next((name for end, name in BINS if self.score < end), ABOVE)

    @property
    def is_good(self) -> bool:
        return self.verdict == Verdict.PASSED and (self.score is None or self.score >= GOOD)


@dataclass(frozen=True)
class FeatureEffect:
    """A feature of the code, and how often good and bad seeds have it."""

    feature: str
    good: int
    bad: int
    p: float
    """Fisher's exact test: how probable such a difference is if the feature meant nothing."""


@dataclass(frozen=True)
class SeedStudy:
    task: str
    author: str
    device: str
    outcomes: tuple[SeedOutcome, ...]
    distribution: dict[str, int]
    """Seeds by category."""
    median: float | None
    """Of the scores of those that passed and were timed."""
    best: float | None
    good: int
    features: tuple[FeatureEffect, ...]
    """Those that separate best first."""


def plan_seeds(
    specification: RunSpecification, count: int, recorded: Sequence[ListedRun] | None = None
) -> list[PlannedRun]:
    """A run for each seed; where there are recorded runs, the first seed of each of them."""
    if count < 1:
        raise UsageError(f"--runs {count}: must be at least 1")
    if recorded is not None and len(recorded) < count:
        raise UsageError(f"--runs {count}: only {len(recorded)} runs of the task are recorded; ask for fewer")
    alone = replace(specification, settings=SETTINGS)
    return [
        PlannedRun(
            in_place(alone, f"seeds {number}", replayed(recorded[number - 1]) if recorded else None),
            seeds_alone,
            first_seed=number,
        )
        for number in range(1, count + 1)
    ]


def read_seed(run: str, summary: RunSummary) -> SeedOutcome:
    """What became of the one seed of a run."""
    attempt = next((one for one in summary.attempts if one.candidate.phase is Phase.SEED), None)
    if attempt is None:
        ended = summary.finished
        why = ended.why if ended else "no kernel was written"
        return SeedOutcome(run, None, why, None, (), ended is not None and ended.keeps_pytorch)
    evaluation, features = attempt.evaluation, tuple(sorted(code_features(attempt.candidate.source)))
    return SeedOutcome(run, str(evaluation.verdict), evaluation.reason, attempt.score, features)


def study_seeds(author: str, runs: Sequence[tuple[str, RunSummary]]) -> SeedStudy:
    """The study of runs by name."""
    outcomes = tuple(read_seed(name, summary) for name, summary in runs)
    survey = next((summary.survey for _, summary in runs if summary.survey), None)
    scores = [one.score for one in outcomes if one.score is not None]
    return SeedStudy(
        task=survey.task if survey else "unknown",
        author=author,
        device=machine_text(survey) if survey else "unknown",
        outcomes=outcomes,
        distribution={name: sum(one.category == name for one in outcomes) for name in CATEGORIES},
        median=median(scores) if scores else None,
        best=max(scores, default=None),
        good=sum(one.is_good for one in outcomes),
        features=separating_features(outcomes),
    )


def separating_features(outcomes: Sequence[SeedOutcome]) -> tuple[FeatureEffect, ...]:
    """Features that some seeds have and others lack, among those that have any code; none when all are alike."""
    read = [one for one in outcomes if one.features]
    good, bad = [one for one in read if one.is_good], [one for one in read if not one.is_good]
    if not good or not bad:
        return ()
    effects = []
    for feature in sorted({feature for one in read for feature in one.features}):
        in_good, in_bad = (sum(feature in one.features for one in group) for group in (good, bad))
        if in_good + in_bad < len(read):
            p = fisher_test((in_good, len(good) - in_good), (in_bad, len(bad) - in_bad))
            effects.append(FeatureEffect(feature, in_good, in_bad, round(p, 6)))
    return tuple(sorted(effects, key=lambda one: one.p)[:MOST_FEATURES])


def seeds_markdown(study: SeedStudy) -> str:
    """The study for people."""
    count, read = len(study.outcomes), [one for one in study.outcomes if one.features]
    parts = [f"# {count} seeds of {plain(study.task)} by {plain(study.author)}", f"Machine: {plain(study.device)}."]
    bars = [(name, str(number), "#" * number) for name, number in study.distribution.items()]
    parts += ["## Distribution", table(("score", "seeds", ""), bars)]
    if study.best is not None:
        parts.append(f"Median {score_text(study.median)}, best {score_text(study.best)} of those that were timed.")
    parts += ["## What good seeds have"]
    good, bad = (sum(one.is_good is wanted for one in read) for wanted in (True, False))
    if study.features:
        rows = [(one.feature, str(one.good), str(one.bad), f"{one.p:.3g}") for one in study.features]
        header = ("feature", f"of {good} good seeds", f"of {bad} bad seeds", "p")
        parts.append(table(header, rows))
        parts.append(f"Good is {GOOD}x and above, or passed where nothing was timed. p is of Fisher's exact test.")
    else:
        parts.append(f"Nothing that was read separates them: {study.good} of {count} seeds are good.")
    parts += ["## Every seed", bullets(map(_seed_line, study.outcomes))]
    return "\n\n".join(parts) + "\n"


def _seed_line(one: SeedOutcome) -> str:
    verdict = one.verdict or "no kernel"
    told = score_text(one.score) or plain(one.why)
    return f"{one.run}: {verdict}, {told}"
