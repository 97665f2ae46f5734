"""Many small launches where one would do."""

from __future__ import annotations

from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.findings import warning
from tilesmith.lint.structure.host_loops.launch_loops import LoopPurpose, find_launch_loops
from tilesmith.lint.structure.launches.launch_count import count_launches
from tilesmith.records import Finding

RULE = "small-launch-count"
MANY_LAUNCHES = 20
"""At some 5 us each that is 0.1 ms of pure launching."""


def small_launch_count(source: KernelSource) -> Iterator[Finding]:
    """More launches than planned, a launch for every item of the data, or very many of them."""
    for loop in find_launch_loops(source):
        if loop.purpose is LoopPurpose.ITEMS:
            message = (
                "a Python loop launches a kernel for every item of a tensor: make the items a grid axis, "
                "so that one launch does them all"
            )
            yield warning(RULE, loop.line, message)
    planned = source.facts.planned_launches
    allowed = MANY_LAUNCHES - 1 if planned is None else planned
    count = count_launches(source)
    if count > allowed:
        limit = "" if planned is None else f", the plan allows {planned}"
        message = f"one forward launches kernels at least {count} times{limit}: fuse steps or give them a grid axis"
        yield warning(RULE, None, message)
