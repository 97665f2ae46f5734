"""Grids, meta-parameters and outputs: what the host promises the kernel."""

from __future__ import annotations

from tilesmith.lint.rules.findings import Rule
from tilesmith.lint.rules.launch.autotune_key_missing import autotune_key_missing
from tilesmith.lint.rules.launch.grid_coverage import grid_coverage
from tilesmith.lint.rules.launch.meta_parameter_twice import meta_parameter_twice
from tilesmith.lint.rules.launch.output_not_written import output_not_written
from tilesmith.lint.rules.launch.too_many_configs import too_many_configs

RULES: tuple[Rule, ...] = (
    grid_coverage,
    meta_parameter_twice,
    autotune_key_missing,
    too_many_configs,
    output_not_written,
)
