"""Grids, meta-parameters and outputs: what the host promises the kernel."""

from __future__ import annotations

from collections.abc import Mapping

from tilesmith.lint.rules.findings import Rule
from tilesmith.lint.rules.launch.autotuner import autotune_key_missing, too_many_configs
from tilesmith.lint.rules.launch.grid_coverage import grid_coverage
from tilesmith.lint.rules.launch.meta_parameters import meta_parameter_twice
from tilesmith.lint.rules.launch.outputs import output_not_written

RULES: Mapping[str, Rule] = {
    "grid-coverage": grid_coverage,
    "meta-parameter-twice": meta_parameter_twice,
    "autotune-key-missing": autotune_key_missing,
    "too-many-configs": too_many_configs,
    "output-not-written": output_not_written,
}
