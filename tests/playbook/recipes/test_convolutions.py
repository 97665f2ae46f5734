"""Convolutions, from the graph to kernels: their values on ragged shapes, and what they need on a GPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playbook_children import Twins, compile_exact, find_problems, interpreting
from playbook_surveys import survey_task
from playbook_tasks import owner, task

from tilesmith.lint import lint, read_kernel
from tilesmith.playbook.plan.making import make_plan
from tilesmith.playbook.plan.plan import Plan
from tilesmith.playbook.recipes import REGION_RECIPES
from tilesmith.playbook.recipes.convolutions import ConvolutionsRecipe
from tilesmith.playbook.tuning import find_tuning
from tilesmith.tasks.gpus import REPRESENTATIVES

ALL_CONVOLUTIONS = (
    *(one for one in REGION_RECIPES if one.name != "convolutions"),
    ConvolutionsRecipe(keeps_pytorch=False),
)
IMAGE = "x = torch.randn(2, 5, 13, 11)"


def conv(text: str, norm: str = "") -> str:
    return owner(f"self.conv = nn.{text}", *([f"self.norm = nn.{norm}"] if norm else []), "self.eval()")


CONVOLUTIONS = {
    "norm": task(
        "return torch.relu(self.norm(self.conv(x)))",
        "x = torch.randn(2, 33, 13, 11)",
        conv("Conv2d(33, size, 3, padding=1, bias=False)", "BatchNorm2d(size)"),
        "70",
    ),
    "bias": task(
        "return torch.relu(self.conv(x)) * 2",
        "x = torch.randn(3, 64, 9, 7)",
        conv("Conv2d(64, size, 3, padding=1)"),
        "17",
    ),
    "strided": task("return F.gelu(self.conv(x))", IMAGE, conv("Conv2d(5, size, (3, 4), stride=(2, 3))"), "24"),
    "dilated": task(
        "return self.conv(x).sigmoid()", IMAGE, conv("Conv2d(5, size, 3, padding=(2, 1), dilation=(2, 1))"), "24"
    ),
    "colors": task(
        "return torch.relu(self.conv(x))",
        "x = torch.rand(2, 3, 21, 19)",
        conv("Conv2d(3, size, 7, stride=2, padding=3)"),
        "40",
    ),
    "residual": task("return torch.relu(self.conv(x) + x)", IMAGE, conv("Conv2d(5, size, 3, padding='same')"), "5"),
    "wide": task(
        "return torch.tanh(self.conv(x)) + 1", "x = torch.randn(3, 40, 50)", conv("Conv1d(40, size, 5)"), "33"
    ),
    "deep": task(
        "return F.leaky_relu(self.conv(x), 0.1)",
        "x = torch.randn(2, 6, 5, 7, 6)",
        conv("Conv3d(6, size, (3, 2, 3), stride=(1, 2, 1), padding=1)"),
        "20",
    ),
    "functional": task(
        "return torch.relu(F.conv2d(x, w, b, padding=1))",
        f"{IMAGE}\nw = torch.randn(20, 5, 3, 3)\nb = torch.randn(20)",
    ),
    "strides": task(
        "return torch.relu(self.conv(x))",
        "x = torch.randn(2, 12, 10, 5)[:, ::2].permute(0, 3, 1, 2)",
        conv("Conv2d(5, size, 3)"),
        "24",
    ),
    "half": task(
        "return torch.relu(self.conv(x))",
        "x = torch.randn(2, 32, 9, 7).half()",
        conv("Conv2d(32, size, 3, padding=1).half()"),
        "24",
    ),
    "bfloat": task(
        "return torch.relu(self.conv(x)) * 2",
        "x = torch.randn(2, 5, 9, 7, dtype=torch.bfloat16)",
        conv("Conv2d(5, size, 3, dtype=torch.bfloat16)"),
        "24",
    ),
}


def plan_of(name: str, text: str, precision: str = "default") -> Plan:
    survey = survey_task(name, text, precision)
    assert survey.graph is not None
    found = make_plan(survey, survey.graph, ALL_CONVOLUTIONS)
    assert isinstance(found, Plan), found
    assert [region.recipe for region in found.regions] == ["convolutions"]
    assert len(found.forward.steps) == 1, found.forward.steps
    return found


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_values_are_right(name: str) -> None:
    plan = plan_of(name, CONVOLUTIONS[name])
    source = plan.write(plan.tunings[0])
    assert lint(read_kernel(source)).findings == ()
    assert find_tuning(plan, source) == plan.tunings[0]
    assert interpreting(find_problems, CONVOLUTIONS[name], source) == []
