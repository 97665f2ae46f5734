"""What a kernel does not take is found out and told, and a kernel that takes it is not limited."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilesmith.judge import Judge
from tilesmith.records import ArgumentSpec, Evaluation

HEAD = """
import torch
import torch.nn as nn
import torch.nn.functional as F
"""
KERNEL = """
import torch, torch.nn as nn, torch.nn.functional as F
import triton, triton.language as tl

@triton.jit
def add_kernel(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + i, mask=i < n).to(tl.float32) + tl.load(y + i, mask=i < n).to(tl.float32)
    tl.store(z + i, total, mask=i < n)

def add(x, y):
    z = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 256),)](x, y, z, x.numel(), BLOCK=256)
    return z
"""
TWO = "\ndef get_inputs(): return [torch.randn(ROWS, 64), torch.randn(ROWS, 64)]\nROWS = 8\n"
ADD = KERNEL + "class ModelNew(nn.Module):\n    def forward(self, x, y):\n        return add(x, y)\n"


def judged(judge: Judge, folder: Path, model: str, kernel: str, inputs: str = TWO) -> Evaluation:
    task, candidate = folder / "task.py", folder / "kernel.py"
    task.write_text(HEAD + f"class Model(nn.Module):\n{model}\n" + inputs)
    candidate.write_text(kernel)
    evaluation = judge.check(task, candidate)
    assert evaluation.passed, evaluation.reason
    return evaluation


def test_a_kernel_by_hand_is_told_its_limits_and_passes(judge: Judge, tmp_path: Path) -> None:
    model = "    def forward(self, x, y):\n        return x + y"
    evaluation = judged(judge, tmp_path, model, ADD)
    assert set(evaluation.limits) == {"forward only", "y must not be broadcast"}
    assert evaluation.interface is not None
    assert evaluation.interface.inputs == (
        ArgumentSpec(("x",), "tensor", "float32", ("n", "m")),
        ArgumentSpec(("y",), "tensor", "float32", ("n", "m")),
    )


def test_an_ignored_argument_is_a_limit_and_a_used_one_is_not(judge: Judge, tmp_path: Path) -> None:
    model = (
        "    def forward(self, x, y, mask=None, *, scale=1.0):\n"
        "        y = y if mask is None else y.masked_fill(mask, 0)\n"
        "        return x + y * scale"
    )
    ignoring = KERNEL + (
        "class ModelNew(nn.Module):\n    def forward(self, x, y, mask=None, *, scale=1.0):\n"
        "        return add(x, y if mask is None else y.masked_fill(mask, 0))\n"
    )
    evaluation = judged(judge, tmp_path, model, ignoring)
    assert "scale must be 1.0" in evaluation.limits
    assert "mask must be None" not in evaluation.limits
    assert evaluation.interface is not None
    assert evaluation.interface.arguments[2:] == (
        ArgumentSpec(("mask",), "value"),
        ArgumentSpec(("scale",), "value", value=1.0),
    )
    assert evaluation.interface.left_out == ("mask", "scale")
    assert evaluation.interface.keyword_only == ("scale",)


@pytest.mark.parametrize(
    ("forward", "limited"),
    [("return add(x, y)", True), ("return add(x, F.dropout(y, 0.5, self.training))", False)],
    ids=["dropout is gone", "dropout is kept"],
)
def test_dropout_that_disappears_in_training_mode(
    judge: Judge, tmp_path: Path, forward: str, limited: bool
) -> None:
    model = "    def forward(self, x, y):\n        return x + F.dropout(y, 0.5, self.training)"
    kernel = KERNEL + f"class ModelNew(nn.Module):\n    def forward(self, x, y):\n        {forward}\n"
    evaluation = judged(judge, tmp_path, model, kernel)
    assert ("eval mode only" in evaluation.limits) is limited


def test_a_branch_on_the_batch(judge: Judge, tmp_path: Path) -> None:
    model = "    def forward(self, x, y):\n        return x + y if x.shape[0] > 1 else x - y"
    evaluation = judged(judge, tmp_path, model, ADD)
    assert "batch above 1" in evaluation.limits


def test_other_types_than_the_tasks(judge: Judge, tmp_path: Path) -> None:
    model = (
        "    def __init__(self):\n        super().__init__()\n        self.bias = nn.Parameter(torch.zeros(64))\n"
        "    def forward(self, x):\n        return x + self.bias"
    )
    kernel = KERNEL + (
        "class ModelNew(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.bias = nn.Parameter(torch.zeros(64))\n"
        "    def forward(self, x):\n        return add(x, self.bias.expand_as(x).contiguous())\n"
    )
    one = "\ndef get_inputs(): return [torch.randn(ROWS, 64)]\nROWS = 8\n"
    assert "float32 inputs only" in judged(judge, tmp_path, model, kernel, one).limits


def test_a_differentiable_kernel_is_not_forward_only(judge: Judge, tmp_path: Path) -> None:
    model = "    def forward(self, x, y):\n        return x + y"
    kernel = KERNEL + (
        "class Add(torch.autograd.Function):\n"
        "    @staticmethod\n    def forward(ctx, x, y):\n        return add(x, y)\n"
        "    @staticmethod\n    def backward(ctx, gradient):\n        return gradient, gradient\n"
        "class ModelNew(nn.Module):\n    def forward(self, x, y):\n        return Add.apply(x, y)\n"
    )
    assert "forward only" not in judged(judge, tmp_path, model, kernel).limits
