"""Grids, meta-parameters and outputs: what the host promises the kernel."""

from __future__ import annotations

from collections.abc import Mapping

from tilesmith.lint.rules.findings import Rule

RULES: Mapping[str, Rule] = {}
