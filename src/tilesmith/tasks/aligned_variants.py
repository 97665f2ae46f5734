"""Small shapes that divide as the original does: for kernels written for the task's exact sizes.

A kernel without masks is right when its blocks divide the sizes. Shrinking 4096 to 61 would call it unsafe;
shrinking it to 256 asks the question the task asks. A size keeps its power of two up to a cap, and stays odd beyond
that if it was: 4096 becomes 256, 4000 becomes 96.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tilesmith.tasks.shrunk_variants import BATCH_NAME, ShrunkTask, is_size, make_shrunk_task
from tilesmith.tasks.size_constants import find_constants
from tilesmith.tasks.source import TaskSource

CAP_BITS = (10, 9, 8, 7, 6)
BATCHES = (8, 2)


def make_aligned_variants(task: TaskSource) -> Iterator[ShrunkTask]:
    """From the largest cap to the smallest."""
    sizes = [constant for constant in find_constants(task) if is_size(constant)]
    for bits, batch in product(CAP_BITS, BATCHES):
        new = {c: min(c.value, batch) if BATCH_NAME.search(c.name) else align(c.value, bits) for c in sizes}
        changed = {c: value for c, value in new.items() if value != c.value}
        if changed:
            yield make_shrunk_task(
                task, f"sizes that divide alike, powers of two at most {2**bits}", changed, "aligned"
            )


def align(value: int, cap_bits: int) -> int:
    if value <= 0:
        return value
    power = value & -value
    unit = min(power, 1 << cap_bits)
    return min(value, unit if value == power else 3 * unit)
