"""Chooses a small version of a task that still runs, and ragged ones beside it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilesmith.errors import TaskError
from tilesmith.tasks.aligned_variants import make_aligned_variants
from tilesmith.tasks.long_variants import make_long_variants
from tilesmith.tasks.shrunk_variants import (
    RAGGED_STEPS,
    ShrunkTask,
    make_halvings,
    make_odd_subset,
    make_odd_variants,
    make_shrunk_variants,
)
from tilesmith.tasks.size_constants import find_constants
from tilesmith.tasks.source import TaskSource
from tilesmith.worker.task.trial import TaskTrial, try_task

BUDGET_ELEMENTS = 200_000
BUDGET_FLOPS = 100_000_000
BUDGET_SECONDS = 6.0
"""For plans, and again for halving. Only tasks that fight back come near this; the smallest variant is taken."""
RAGGED_GROWTH = 2
LONG_SECONDS = 2.0
LONG_ELEMENTS = 300_000
LONG_OUTPUTS = 8_192
LONG_ROWS = 2_048
ALIGNED_ELEMENTS = 2_500_000
ALIGNED_FLOPS = 600_000_000


@dataclass(frozen=True)
class ShrunkChoice:
    """The text to check kernels on, how it was made, and how large it is."""

    text: str
    plan: str
    constants: dict[str, int]
    elements: int
    flops: int
    is_small: bool
    """False when no valid variant met the budget: expect the interpreter to be slow."""
    tried: int


@dataclass(frozen=True)
class _Budget:
    elements: int
    flops: int
    outputs: int | None = None
    """Where outputs and inputs are not of one size, because a kernel may start a program for each output."""
    rows: int | None = None
    """Where they are, because it may start one for each row."""

    def fits(self, trial: TaskTrial) -> bool:
        if self.outputs is not None and trial.outputs > self.outputs and not trial.is_map:
            return False
        if self.rows is not None and trial.rows > self.rows and trial.is_map:
            return False
        return trial.elements <= self.elements and trial.flops <= self.flops


@dataclass
class _Search:
    """The state of one choice: what the original looks like, the best variant, the clock."""

    task: TaskSource
    budget: _Budget
    original: TaskTrial
    best: ShrunkTask
    best_trial: TaskTrial
    deadline: float
    tried: int = 1

    def consider(self, variant: ShrunkTask) -> TaskTrial:
        """Tries a variant, and keeps it if it is valid and smaller than the best so far."""
        self.tried += 1
        trial = try_task(replace(self.task, text=variant.text))
        if trial.runs and not _same_form(trial, self.original):
            trial = replace(trial, runs=False, reason="the outputs or the parameters are of another form")
        if trial.runs and _cost(trial) < _cost(self.best_trial):
            self.best, self.best_trial = variant, trial
        return trial

    @property
    def is_over(self) -> bool:
        return self.budget.fits(self.best_trial) or time.monotonic() > self.deadline


def choose_shrunk(
    task: TaskSource, budget_elements: int = BUDGET_ELEMENTS, budget_flops: int = BUDGET_FLOPS
) -> ShrunkChoice:
    """The first valid plan within the budget, else the smallest valid variant that was found.

    Raises `TaskError` when the task itself, at its own sizes, does not run.
    """
    original = try_task(task)
    if not original.runs:
        raise TaskError(original.reason)
    as_is = ShrunkTask(task.text, "as is", {}, "as is")
    deadline = time.monotonic() + BUDGET_SECONDS
    search = _Search(task, _Budget(budget_elements, budget_flops), original, as_is, original, deadline)
    _try_families(search)
    search.deadline = time.monotonic() + BUDGET_SECONDS  # a network has used up its own, and its batch is left
    _halve_until_small(search)
    best, trial = search.best, search.best_trial
    is_small = search.budget.fits(trial)
    return ShrunkChoice(best.text, best.plan, best.constants, trial.elements, trial.flops, is_small, search.tried)


def odd_shapes(task: TaskSource, choice: ShrunkChoice, count: int = 2) -> list[ShrunkChoice]:
    """Up to `count` valid ragged versions of the chosen small task, one per way of being ragged."""
    small = replace(task, text=choice.text)
    original = try_task(small)
    if not original.ran_for_real:
        return []
    growth = _Budget(
        RAGGED_GROWTH * max(choice.elements, BUDGET_ELEMENTS), RAGGED_GROWTH * max(choice.flops, BUDGET_FLOPS)
    )
    ragged = _Ragged(task, small, original, growth, time.monotonic() + BUDGET_SECONDS)
    found = (ragged.first_valid(by) for by in RAGGED_STEPS[:count])
    return [choice for choice in found if choice is not None]


def long_shapes(task: TaskSource, choice: ShrunkChoice, count: int = 2) -> list[ShrunkChoice]:
    """Up to `count` versions of the chosen small task with one size much longer, for one run each."""
    small = replace(task, text=choice.text)
    budget = _Budget(LONG_ELEMENTS, BUDGET_FLOPS, LONG_OUTPUTS, LONG_ROWS)
    search = _Ragged(task, small, try_task(small), budget, time.monotonic() + LONG_SECONDS, stays_on_its_way=True)
    found: list[ShrunkChoice] = []
    for versions in make_long_variants(small, task):
        longest = next((long for variant in versions if (long := search.choice(variant))), None)
        if longest is not None:
            found.append(longest)
        if len(found) == count or time.monotonic() > search.deadline:
            break
    return found


def choose_aligned(task: TaskSource) -> ShrunkChoice | None:
    """The largest shape that divides as the task does and can still be interpreted; None if there is none."""
    budget, original = _Budget(ALIGNED_ELEMENTS, ALIGNED_FLOPS), try_task(task)
    for tried, variant in enumerate(make_aligned_variants(task), 1):
        trial = try_task(replace(task, text=variant.text))
        if trial.runs and trial.parameters == original.parameters and budget.fits(trial):
            return ShrunkChoice(
                variant.text, variant.plan, variant.constants, trial.elements, trial.flops, True, tried
            )
    return None


@dataclass(frozen=True)
class _Ragged:
    """The search for ragged versions of one small task."""

    task: TaskSource
    small: TaskSource
    original: TaskTrial
    budget: _Budget
    deadline: float
    stays_on_its_way: bool = False
    """A version that other operators compute, because the code asks for a size, is no longer the same task."""

    def first_valid(self, by: int) -> ShrunkChoice | None:
        """The first whole plan that runs; else whatever sizes can be ragged one by one."""
        for variant in make_odd_variants(self.small, self.task):
            if variant.family == f"ragged {by:+d}" and (choice := self.choice(variant)):
                return choice
        best: ShrunkChoice | None = None
        for size in find_constants(self.task):
            names = {*(best.constants if best else ()), size.name}
            variant_of = make_odd_subset(self.small, self.task, by, names)
            best = (variant_of and self.choice(variant_of)) or best
        return best

    def choice(self, variant: ShrunkTask) -> ShrunkChoice | None:
        if time.monotonic() > self.deadline:
            return None
        trial = try_task(replace(self.task, text=variant.text))
        valid = trial.runs and trial.ran_for_real and _same_form(trial, self.original)
        valid = valid and not (self.stays_on_its_way and trial.operators - self.original.operators)
        if not (valid and self.budget.fits(trial)):
            return None
        return ShrunkChoice(variant.text, variant.plan, variant.constants, trial.elements, trial.flops, True, 1)


def _try_families(search: _Search) -> None:
    broken: set[str] = set()
    for variant in make_shrunk_variants(search.task):
        if search.is_over:
            return
        if variant.family not in broken and not search.consider(variant).runs:
            broken.add(variant.family)


def _halve_until_small(search: _Search) -> None:
    """From the smallest variant so far, halves whatever can be halved, largest first."""
    while not search.is_over:
        before = search.best
        for variant in _halved_from(search):
            search.consider(variant)
            if search.best is not before or search.is_over:
                break
        if search.best is before:
            return


def _halved_from(search: _Search) -> Iterator[ShrunkTask]:
    best = search.best
    for variant in make_halvings(replace(search.task, text=best.text), search.task):
        yield replace(
            variant,
            plan=best.plan if best.plan.endswith("halved") else f"{best.plan}, then halved",
            constants=best.constants | variant.constants,
        )


def _same_form(trial: TaskTrial, original: TaskTrial) -> bool:
    if trial.parameters != original.parameters:
        return False
    return original.output_ranks is None or trial.output_ranks == original.output_ranks


def _cost(trial: TaskTrial) -> int:
    """One number to compare variants by: a thousand FLOPs are about as slow as an element."""
    return trial.elements + trial.flops // 1000
