"""Values that are wrong at an edge, overflow, or lose precision."""

from __future__ import annotations

from collections.abc import Mapping

from tilesmith.lint.rules.findings import Rule

RULES: Mapping[str, Rule] = {}
