"""Images of several convolutions side by side: joined by where they are written, with scales of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playbook_children import Twins, compile_exact, find_problems, interpreting
from playbook_surveys import survey_task
from playbook_tasks import owner, task
from test_convolution_chains import layers, links, plan_of

from tilesmith.lint import lint, read_kernel
from tilesmith.playbook.plan.making import make_plan
from tilesmith.playbook.plan.plan import Plan
from tilesmith.playbook.recipes import REGION_RECIPES
from tilesmith.playbook.tuning import find_tuning
from tilesmith.tasks.gpus import REPRESENTATIVES

JOINED = {
    "dense": task(
        "x = self.a(x)\ny = torch.cat([x, self.c(F.relu(self.b(x)))], 1)\n"
        "z = torch.cat([y, self.e(F.relu(self.d(y)))], 1)\nreturn self.f(z), z",
        "x = torch.randn(2, 3, 9, 7)",
        layers(
            "Conv2d(3, size, 3, padding=1)",
            "BatchNorm2d(size)",
            "Conv2d(size, 8, 3, padding=1)",
            "BatchNorm2d(size + 8)",
            "Conv2d(size + 8, 40, 3, padding=1)",
            "Conv2d(size + 48, 10, 1)",
        ),
        "16",
    ),
    "fire": task(
        "x = F.relu(self.a(x))\nx = torch.cat([F.relu(self.b(x)), F.relu(self.c(x))], 1)\n"
        "x = F.max_pool2d(x, 3, 2, ceil_mode=True)\nx = F.relu(self.d(x))\n"
        "return self.f(torch.cat([self.e(x), x], 1))",
        "x = torch.randn(3, 3, 13, 11)",
        layers(
            "Conv2d(3, size, 3)",
            "Conv2d(size, 32, 1)",
            "Conv2d(size, 64, 3, padding=1)",
            "Conv2d(96, 32, 1)",
            "Conv2d(32, 40, 3, padding=1)",
            "Conv2d(72, 10, 1)",
        ),
        "16",
    ),
    "branches": task(
        "x = F.relu(self.a(x))\nx = torch.cat([self.b(x), F.max_pool2d(x, 3, 1, 1), self.c(x)], 1)\n"
        "return self.pool(F.relu(self.e(F.relu(self.d(x))))) * 2",
        "x = torch.randn(2, 5, 8, 12)",
        layers(
            "Conv2d(5, size, 3, padding=1)",
            "Conv2d(size, 24, 1)",
            "Conv2d(size, 32, 5, padding=2)",
            "BatchNorm2d(size + 56)",
            "Conv2d(size + 56, 24, 3, stride=2)",
        ),
        "16",
    ),
    "skips": task(
        "y = F.relu(self.a(x))\nz = self.c(F.relu(self.b(self.pool(y))))\n"
        "return self.e(F.gelu(self.d(torch.cat([y, z], 1))))",
        "x = torch.randn(2, 3, 12, 8)",
        layers(
            "Conv2d(3, 32, 3, padding=1)",
            "Conv2d(32, size, 3, padding=1)",
            "ConvTranspose2d(size, 32, 2, stride=2)",
            "Conv2d(64, size, 3, padding=1)",
            "Conv2d(size, 2, 1)",
        ),
        "24",
    ),
}


@pytest.mark.parametrize(
    ("name", "joins"),
    [("dense", 2), ("fire", 2), ("branches", 1), ("skips", 1)],
)
def test_values_are_right(name: str, joins: int) -> None:
    plan = plan_of(name, JOINED[name])
    assert [one.recipe for one in plan.regions].count("concatenations") == joins
    source = plan.write(plan.tunings[0])
    assert lint(read_kernel(source)).findings == ()
    assert find_tuning(plan, source) == plan.tunings[0]
    assert interpreting(find_problems, JOINED[name], source) == []
