"""Small and ragged versions of a task, made by rewriting its size constants.

For checks in Triton's interpreter (about 1.5 ms a program) and as extra shapes on a GPU. Nothing
here can know whether a variant still runs: plans come in order of preference, and
`worker.task.shrinking` tries them against the reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from tilesmith.tasks.size_constants import SizeConstant, find_constants, rewrite_constants
from tilesmith.tasks.size_relations import clamp, keep_products, keep_ratios, make_ragged, shrink_value, spread
from tilesmith.tasks.source import TaskSource

LIMITS = (128, 64, 32, 16, 8)
SMALL_INTEGER = 16
LARGEST_KNOB = 64
KNOB_NAME = re.compile(
    r"kernel|stride|pad|dilat|group|head|(?<!st)eps|patch|window|block|chunk|expert|top_?k|factor|ratio|rank"
    r"|layer|(^|_)dim$|axis|state|depth$",
    re.IGNORECASE,
)
SIZE_NAME = re.compile(r"batch|seq|len|size|height|width|steps|(^|_)bs$|^[BHWTNMSL]$", re.IGNORECASE)
BATCH_NAME = re.compile(r"batch|(^|[._])bs$|^B$", re.IGNORECASE)
NEVER_NAME = re.compile(r"seed|epoch", re.IGNORECASE)
SMALLEST_BATCH = 2
RAGGED_STEPS = (-3, 1)
SMALLEST_HALF = 8


@dataclass(frozen=True)
class ShrunkTask:
    """One rewritten task: the text, the plan that made it and the constants it changed."""

    text: str
    plan: str
    constants: dict[str, int]
    family: str
    """Plans of one family differ only in their limit: if one breaks the task, so will the next."""


def make_shrunk_variants(task: TaskSource) -> Iterator[ShrunkTask]:
    """Whole-task plans, best first: families in order of preference, each from large to small."""
    constants = find_constants(task)
    sizes = [constant for constant in constants if is_size(constant)]
    fixed = [constant.value for constant in constants if not is_size(constant)]
    inputs = [constant for constant in sizes if constant.feeds_inputs]
    batch = [constant for constant in sizes if is_batch(constant)]
    for family, chosen, plan in _families(sizes, inputs, batch, fixed):
        for limit in LIMITS:
            variant = make_shrunk_task(task, f"{family} at most {limit}", dict(plan(chosen, limit)), family)
            if variant.constants:
                yield variant


ValueMap = Callable[[list[int], int], dict[int, int]]
Plan = Callable[[list[SizeConstant], int], Iterator[tuple[SizeConstant, int]]]


def _families(
    sizes: list[SizeConstant], inputs: list[SizeConstant], batch: list[SizeConstant], fixed: list[int]
) -> Iterator[tuple[str, list[SizeConstant], Plan]]:
    others = fixed + [constant.value for constant in sizes if constant not in inputs]
    rules: list[tuple[str, list[SizeConstant], ValueMap]] = [
        ("all sizes, kept different,", sizes, lambda v, limit: spread(v, limit, fixed)),
        ("all sizes, divisors kept,", sizes, lambda v, limit: spread(v, limit, fixed, strict=True)),
        ("all sizes, products kept,", sizes, lambda v, limit: keep_products(spread(v, limit, fixed), fixed)),
        ("all sizes, ratios kept,", sizes, keep_ratios),
        ("input sizes,", inputs, lambda v, limit: spread(v, limit, others)),
        ("all sizes, clamped,", sizes, lambda v, limit: clamp(v, limit, fixed)),
        ("batch only,", batch, lambda v, limit: clamp(v, limit, [])),
    ]
    return ((family, chosen, _by_value(mapping)) for family, chosen, mapping in rules)


def _by_value(mapping: ValueMap) -> Plan:
    """A plan over constants from a map over values, so that equal constants stay equal."""

    def plan(constants: list[SizeConstant], limit: int) -> Iterator[tuple[SizeConstant, int]]:
        new = mapping([constant.value for constant in constants], limit)
        return ((constant, new[constant.value]) for constant in constants)

    return plan


def make_halvings(task: TaskSource, original: TaskSource) -> Iterator[ShrunkTask]:
    """Variants with one thing halved: the batch, then groups of equal constants, then single ones."""
    sizes, fixed = _sizes_of(task, original)
    for group in _halving_groups(sizes):
        value = group[0].value
        least = SMALLEST_BATCH if is_batch(group[0]) or _is_count(group[0]) else SMALLEST_HALF
        half = shrink_value(value, max(value // 2, least), [] if is_batch(group[0]) else fixed)
        if least <= half < value:
            new = dict.fromkeys(group, half)
            yield make_shrunk_task(task, f"{group[0].name} halved", new, "halving")


def _halving_groups(sizes: list[SizeConstant]) -> Iterator[list[SizeConstant]]:
    batch = [constant for constant in sizes if is_batch(constant)]
    if batch and len({constant.value for constant in batch}) == 1:
        yield batch
    rest = [constant for constant in sizes if not is_batch(constant)]
    for value in sorted({constant.value for constant in rest}, reverse=True):
        yield [constant for constant in rest if constant.value == value]
    for constant in sorted(sizes, key=lambda item: -item.value):
        yield [constant]


def make_odd_variants(task: TaskSource, original: TaskSource | None = None) -> Iterator[ShrunkTask]:
    """Ragged versions, most ragged first: sizes that no tile divides, relations kept where needed.

    `original` is the task before it was shrunk: it tells sizes from small integers.
    """
    sizes, fixed = _sizes_of(task, original or task)
    sizes = [constant for constant in sizes if not _is_count(constant)]
    inputs = [constant for constant in sizes if constant.feeds_inputs]
    everything = fixed + [constant.value for constant in sizes]
    grown = {
        size: make_ragged(size.value, [], 1) for size in sizes if is_batch(size) and size.value <= SMALLEST_BATCH
    }
    seen = {task.text}
    for by in RAGGED_STEPS:
        plans = [
            ("each size apart", _ragged_apart(sizes, [], by)),
            ("each size apart, divisors kept", _ragged_apart(sizes, fixed, by)),
        ]
        for label, chosen in (("all sizes", sizes), ("input sizes", inputs)):
            for kept, divisors in (("", []), (", divisors kept", fixed), (", all divisors kept", everything)):
                plans.append((label + kept, {c: make_ragged(c.value, divisors, by) for c in chosen}))
        for label, new in ((label, new | batch) for label, new in plans for batch in (grown, {})):
            variant = make_shrunk_task(task, f"ragged {label} ({by:+d})", new, f"ragged {by:+d}")
            if variant.text not in seen:
                seen.add(variant.text)
                yield variant


def _ragged_apart(sizes: list[SizeConstant], divisors: list[int], by: int) -> dict[SizeConstant, int]:
    """Every size off by another amount, so that equal ones differ where the task allows it."""
    further = 2 if by > 0 else -2
    steps = [by + further * (index % 3) for index in range(len(sizes))]
    return {
        size: make_ragged(size.value, [] if is_batch(size) else divisors, step)
        for size, step in zip(sizes, steps, strict=True)
    }


def make_odd_subset(task: TaskSource, original: TaskSource, by: int, names: Collection[str]) -> ShrunkTask | None:
    """Only the sizes called `names` ragged: for tasks in which most sizes are tied to another."""
    sizes, fixed = _sizes_of(task, original)
    named = [c for c in sizes if c.name in names and c.feeds_inputs]
    chosen = {c: make_ragged(c.value, [] if is_batch(c) else fixed, by) for c in named}
    label = ", ".join(constant.name for constant in chosen)
    variant = make_shrunk_task(task, f"ragged {label} ({by:+d})", chosen, f"ragged {by:+d}")
    return variant if variant.constants else None


def make_doubled_variants(task: TaskSource) -> Iterator[ShrunkTask]:
    """Versions of a task with one size of its inputs doubled: those that are equal together, then single ones."""
    sizes = [constant for constant in find_constants(task) if constant.feeds_inputs and constant.value > 1]
    groups = [[one for one in sizes if one.value == value] for value in dict.fromkeys(one.value for one in sizes)]
    for chosen in [*groups, *([one] for group in groups if len(group) > 1 for one in group)]:
        new = {one: 2 * one.value for one in chosen}
        yield make_shrunk_task(task, f"{chosen[0].name} doubled", new, "doubled")


class _SizeConstants(NamedTuple):
    sizes: list[SizeConstant]
    fixed: list[int]


def _sizes_of(task: TaskSource, original: TaskSource) -> _SizeConstants:
    """The task's constants, judged by the names and values they had before any shrinking."""
    now, before = find_constants(task), find_constants(original)
    sizes, fixed = [], []
    for constant, judged in zip(now, before, strict=True):
        if is_size(judged) or _is_count(judged):
            sizes.append(replace(constant, name=judged.name))
        else:
            fixed.append(constant.value)
    return _SizeConstants(sizes, fixed)


def make_shrunk_task(task: TaskSource, plan: str, new: dict[SizeConstant, int], family: str) -> ShrunkTask:
    changed = {constant: size for constant, size in new.items() if size != constant.value}
    names = {constant.name: size for constant, size in changed.items()}
    return ShrunkTask(rewrite_constants(task.text, changed), plan, names, family)


def _last_word(constant: SizeConstant) -> str:
    """The part of a constant's name that says what it is: 'kernel_size' of 'config['kernel_size']'."""
    return re.split(r"[.:]|\['?", constant.name.rstrip("'\"]"))[-1]


def is_size(constant: SizeConstant) -> bool:
    if constant.value <= 1 or NEVER_NAME.search(constant.name):
        return False
    words = f"{constant.name.split('[')[0]} {_last_word(constant)}"
    if KNOB_NAME.search(words):
        return constant.value > LARGEST_KNOB
    if constant.value > SMALL_INTEGER:
        return True
    return constant.leads_inputs or (constant.feeds_inputs and bool(SIZE_NAME.search(words)))


def is_batch(constant: SizeConstant) -> bool:
    return constant.leads_inputs or bool(BATCH_NAME.search(constant.name))


def _is_count(constant: SizeConstant) -> bool:
    """A number of layers: safe to reduce, unlike other small integers."""
    return bool(re.search(r"layers", constant.name, re.IGNORECASE)) and 2 < constant.value <= LARGEST_KNOB
