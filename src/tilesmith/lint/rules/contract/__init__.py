"""Can the candidate stand in for the task's module?"""

from __future__ import annotations

from tilesmith.lint.rules.contract.interface_mismatch import interface_mismatch
from tilesmith.lint.rules.contract.no_model_class import no_model_class
from tilesmith.lint.rules.findings import Rule

RULES: tuple[Rule, ...] = (
    interface_mismatch,
    no_model_class,
)
