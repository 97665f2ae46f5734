"""Versions of a small task in which one size is long, so that kernels need a second block.

A small task fits one block of most kernels: loops run once, grids have one program along an axis, and a missing
carry or a wrong second tile is never seen.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilesmith.tasks.shrunk_variants import BATCH_NAME, SMALLEST_BATCH, ShrunkTask, is_size, make_shrunk_task
from tilesmith.tasks.size_constants import SizeConstant, find_constants
from tilesmith.tasks.size_relations import shrink_value
from tilesmith.tasks.source import TaskSource

LONG_LIMITS = (8192, 4096, 2048, 1024, 512, 256)
BESIDE_LONG = (16, 8, 4)
LONGEST_BATCH = 256
"""More rows are more programs, not more work for one."""


def make_long_variants(small: TaskSource, task: TaskSource) -> Iterator[Iterator[ShrunkTask]]:
    """For each size of `task`, versions of `small` in which it alone is long, longest first."""
    pairs = list(zip(find_constants(small), find_constants(task), strict=True))
    sizes = [(now, before) for now, before in pairs if is_size(before)]
    fixed = [now.value for now, before in pairs if not is_size(before)]
    for chosen, original in sorted(sizes, key=lambda pair: (bool(BATCH_NAME.search(pair[1].name)), -pair[1].value)):
        yield _long_versions(small, sizes, fixed, chosen, original)


def _long_versions(
    small: TaskSource,
    sizes: list[tuple[SizeConstant, SizeConstant]],
    fixed: list[int],
    chosen: SizeConstant,
    original: SizeConstant,
) -> Iterator[ShrunkTask]:
    for limit in LONG_LIMITS:
        if limit > LONGEST_BATCH and BATCH_NAME.search(original.name):
            continue
        length = shrink_value(original.value, limit, fixed)
        if length < 2 * chosen.value:
            return
        for beside in BESIDE_LONG:
            new = {now: _beside(now, before, beside, fixed) for now, before in sizes if now.value < before.value}
            plan = f"{original.name} long ({length})"
            yield make_shrunk_task(small, plan, new | {chosen: length}, f"long {original.name}")


def _beside(now: SizeConstant, before: SizeConstant, limit: int, fixed: list[int]) -> int:
    """A size next to a long one. What the small task kept as it was is not passed here: kernels may count on it."""
    if BATCH_NAME.search(before.name):
        return min(now.value, SMALLEST_BATCH)
    return min(now.value, shrink_value(before.value, limit, fixed))
