"""docs/lint.md lists every rule as its lesson has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilesmith.lint import RULES
from tilesmith.lint.lessons import lessons

PAGE = (Path(__file__).parents[2] / "docs" / "lint.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("rule", RULES)
def test_rule_is_listed(rule: str) -> None:
    lesson = lessons()[rule]
    assert f"| [`{rule}`](../src/tilesmith/lint/lessons/{rule}.md) | {lesson.severity} | {lesson.title} |" in PAGE


def test_nothing_else_is_listed() -> None:
    assert PAGE.count("](../src/tilesmith/lint/lessons/") == len(RULES)
