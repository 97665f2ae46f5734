"""Lessons teach what the rules find: WRONG breaks exactly its rule, CORRECT does not."""

from __future__ import annotations

import pytest

from tilesmith.lint import RULES, TaskFacts, lint, read_kernel
from tilesmith.lint.lessons import lessons
from tilesmith.records import Severity

HEAD = """\
import torch
import triton
import triton.language as tl
from torch import nn
import torch.nn.functional as F
"""
GIVEN = {
    "small-launch-count": TaskFacts(planned_launches=1),
    "interface-mismatch": TaskFacts(has_task=True, inputs=2, init_arguments=1),
}
ABOUT_THE_WHOLE_FILE = {"no-model-class", "no-triton-launch"}


def found(code: str, rule: str) -> set[str]:
    source = read_kernel(HEAD + code, GIVEN.get(rule, TaskFacts()))
    grave = {f.id for f in lint(source).findings if f.severity is not Severity.INFO or f.id == rule}
    return grave - (ABOUT_THE_WHOLE_FILE - {rule})


def test_every_rule_has_a_lesson() -> None:
    assert set(lessons()) == {*RULES, "syntax-error"}


@pytest.mark.parametrize("rule", RULES)
def test_wrong_breaks_its_rule_and_no_other(rule: str) -> None:
    assert found(lessons()[rule].wrong, rule) == {rule}


@pytest.mark.parametrize("rule", RULES)
def test_correct_does_not(rule: str) -> None:
    assert found(lessons()[rule].correct, rule) == set()


@pytest.mark.parametrize("rule", RULES)
def test_lessons_are_complete(rule: str) -> None:
    lesson = lessons()[rule]
    assert lesson.title
    assert len(lesson.why.split()) >= 15
    assert lesson.applies_to
