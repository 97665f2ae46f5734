"""A rule's id, its function and its module have one name, and beside rules there is nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilesmith.lint import rules
from tilesmith.lint.rules import GROUPS, RULES

FOLDER = Path(rules.__file__).parent


@pytest.mark.parametrize("rule", RULES)
def test_module_is_named_after_the_id(rule: str) -> None:
    name = rule.replace("-", "_")
    assert RULES[rule].__name__ == name
    assert RULES[rule].__module__.rpartition(".")[2] == name


def test_every_module_of_a_group_is_a_registered_rule() -> None:
    for group, ids in GROUPS.items():
        modules = {path.stem for path in (FOLDER / group).iterdir() if not path.name.startswith("__")}
        assert modules == {rule.replace("-", "_") for rule in ids.split()}
