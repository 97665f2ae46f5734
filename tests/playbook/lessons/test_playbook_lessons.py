"""What the playbook teaches as CORRECT is right: the linter finds nothing and the judge passes it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from playbook_children import find_problems, interpreting
from playbook_judging import some_of

from tilesmith.judge import Judge
from tilesmith.lint import lint, read_kernel
from tilesmith.lint.lessons import lessons
from tilesmith.playbook.lessons import playbook_lessons
from tilesmith.records import Severity

HEAD = """\
import torch
import triton
import triton.language as tl
from torch import nn
"""
TASK = """\
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, {arguments}):
{body}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""
RECURRENCE = """\
        h, states = torch.zeros_like(gates[0]), []
        for t in range(gates.shape[0]):
            h = torch.sigmoid(gates[t] + h @ w)
            states.append(h)
        return torch.stack(states)"""
TASKS = {
    "weights-on-chip": ("gates, w", RECURRENCE, "torch.randn(6, 5, 40), torch.randn(40, 40)"),
    "input-gates-outside": (
        "x, wx, w",
        f"        gates = x @ wx\n{RECURRENCE}",
        "torch.randn(6, 5, 24), torch.randn(24, 40), torch.randn(40, 40)",
    ),
    "round-before-tf32": (
        "x, w",
        "        return nn.functional.conv2d(x, w[:, :, None, None])",
        "torch.randn(2, 24, 9, 9), torch.randn(40, 24)",
    ),
    "float32-on-tensor-cores": ("a, b", "        return a @ b", "torch.randn(70, 50), torch.randn(50, 90)"),
    "one-pass-rows": ("x", "        return torch.softmax(x, dim=-1)", "torch.randn(20, 1000)"),
    "epilogue-in-gemm": (
        "a, b, bias",
        "        return nn.functional.silu(a @ b + bias)",
        "torch.randn(70, 50), torch.randn(50, 90), torch.randn(90)",
    ),
    "split-k-for-small-grids": ("a, b", "        return a @ b", "torch.randn(20, 700), torch.randn(700, 30)"),
    "fuse-the-chain": (
        "x, bias, residual",
        "        return nn.functional.silu(x + bias) + residual",
        "torch.randn(9, 70), torch.randn(70), torch.randn(9, 70)",
    ),
}


def kernel_file(code: str) -> str:
    """The lesson's code with a module around its entry, which is its last function."""
    entry = [node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)][-1]
    forward = f"    def forward(self, *inputs):\n        return {entry}(*inputs)\n"
    return f"{HEAD}\n\n{code}\n\nclass ModelNew(nn.Module):\n{forward}"


def grave(code: str) -> list[str]:
    found = lint(read_kernel(kernel_file(code))).findings
    return [finding.id for finding in found if finding.severity is not Severity.INFO]


def test_ids_are_their_own() -> None:
    assert set(TASKS) == set(playbook_lessons())
    assert not set(lessons()) & set(playbook_lessons())


@pytest.mark.parametrize("lesson_id", TASKS)
def test_the_linter_finds_nothing_in_correct(lesson_id: str) -> None:
    assert grave(playbook_lessons()[lesson_id].correct) == []


def task_of(lesson_id: str) -> str:
    arguments, body, inputs = TASKS[lesson_id]
    return TASK.format(arguments=arguments, body=body, inputs=inputs)


@pytest.mark.parametrize("lesson_id", TASKS)
def test_values_of_correct_are_right(lesson_id: str) -> None:
    kernel = kernel_file(playbook_lessons()[lesson_id].correct)
    assert interpreting(find_problems, task_of(lesson_id), kernel) == []


@pytest.mark.parametrize("lesson_id", some_of(TASKS, ["float32-on-tensor-cores"]))
def test_the_judge_passes_correct(judge: Judge, tmp_path: Path, lesson_id: str) -> None:
    """Values, masks and compilation for sm_90."""
    task, kernel = tmp_path / "task.py", tmp_path / "kernel.py"
    task.write_text(task_of(lesson_id))
    kernel.write_text(kernel_file(playbook_lessons()[lesson_id].correct))
    found = judge.check(task, kernel)
    assert found.passed, found.reason
    assert found.resources != ()


@pytest.mark.parametrize("lesson_id", TASKS)
def test_lessons_are_complete(lesson_id: str) -> None:
    lesson = playbook_lessons()[lesson_id]
    assert len(lesson.why.split()) >= 40
    assert lesson.title
    assert lesson.applies_to
    assert ast.dump(ast.parse(lesson.wrong)) != ast.dump(ast.parse(lesson.correct))
