"""Launches repeated from Python, each paying its own launch and losing what was on chip."""

from __future__ import annotations

from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.findings import warning
from tilesmith.lint.structure.host_loops.launch_loops import find_time_loops
from tilesmith.records import Finding


def time_loop_on_host(source: KernelSource) -> Iterator[Finding]:
    """A Python loop that steps through a sequence and starts kernels on the way."""
    for loop in find_time_loops(source):
        message = (
            "a Python loop launches kernels for every step of a sequence: move the loop into one kernel, "
            "so that the state stays on chip and the launch is paid once"
        )
        yield warning("time-loop-on-host", loop.line, message)
