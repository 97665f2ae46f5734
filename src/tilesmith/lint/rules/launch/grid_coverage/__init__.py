"""Does the grid start a program for every part of the output?"""

from __future__ import annotations

from collections.abc import Iterator

from tilesmith.lint.model.source import KernelSource
from tilesmith.lint.rules.launch.grid_coverage.fixed_programs import fixed_numbers_of_programs
from tilesmith.lint.rules.launch.grid_coverage.missing_remainder import remainders_left_out
from tilesmith.lint.rules.launch.grid_coverage.tile_sizes import started_kernels, tiles_of_other_sizes
from tilesmith.records import Finding


def grid_coverage(source: KernelSource) -> Iterator[Finding]:
    """Remainders cut off, tiles of another size than the kernel's, or a fixed number of programs without a loop."""
    seen: set[tuple[str, int | None]] = set()
    for started in started_kernels(source):
        for check in (remainders_left_out, tiles_of_other_sizes, fixed_numbers_of_programs):
            for finding in check(started):
                if (finding.message, finding.line) not in seen:
                    seen.add((finding.message, finding.line))
                    yield finding
