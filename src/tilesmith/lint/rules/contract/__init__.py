"""Can the candidate stand in for the task's module?"""

from __future__ import annotations

from collections.abc import Mapping

from tilesmith.lint.rules.contract.interface import interface_mismatch
from tilesmith.lint.rules.findings import Rule

RULES: Mapping[str, Rule] = {
    "interface-mismatch": interface_mismatch,
}
