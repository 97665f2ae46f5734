"""Images of several convolutions side by side: joined by where they are written, with scales of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playbook_children import Twins, compile_exact, find_problems, interpreting
from playbook_surveys import survey_task
from playbook_tasks import task
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
    "refused": task(
        "x = F.relu(self.a(x))\nx = torch.cat([x, self.b(x)], 1)\n"
        "return self.c(F.relu(x)), self.e(self.d(F.relu(x))), self.f(F.relu(x))",
        "x = torch.randn(2, 3, 12, 8)",
        layers(
            "Conv2d(3, 32, 3, padding=1)",
            "Conv2d(32, 32, 3, padding=1)",
            "Conv2d(64, 32, 3, groups=2)",
            "Conv2d(64, 32, 3, bias=False)",
            "BatchNorm2d(32, track_running_stats=False)",
            "Conv2d(64, 24, 1)",
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
    [("dense", 2), ("fire", 2), ("branches", 1), ("refused", 1), ("skips", 1)],
)
def test_values_are_right(name: str, joins: int) -> None:
    plan = plan_of(name, JOINED[name])
    assert [one.recipe for one in plan.regions].count("concatenations") == joins
    source = plan.write(plan.tunings[0])
    assert lint(read_kernel(source)).findings == ()
    assert find_tuning(plan, source) == plan.tunings[0]
    assert interpreting(find_problems, JOINED[name], source) == []


def unusual(task_text: str, kernel: str) -> list[str]:
    """What differs where parts of a buffer are of very different sizes, infinite, no numbers, or zero."""
    import torch

    twins = Twins(task_text, kernel)
    torch.manual_seed(0)
    x = torch.randn(5, 3, 9, 7)
    x[0, 1, 4, 4], x[0, 2, 0, 0] = float("inf"), float("nan")
    x[1], x[2], x[3] = 0, x[2] * 1e25, x[3] * 1e-25
    with torch.no_grad():
        for model in (twins.written, twins.reference):
            model.c.weight.mul_(1e6)  # what is joined is beyond what a half holds, its neighbor is not
            model.d.running_mean.copy_(torch.linspace(-1, 1, len(model.d.running_mean)))
            model.d.running_var.copy_(torch.logspace(-2, 4, len(model.d.running_var)))
    got, expected = twins.outputs(x), twins.expected(x)
    problems = []
    for place, (one, other) in enumerate(zip(got, expected, strict=True)):
        for kind in ("isnan", "isinf"):
            if not torch.equal(getattr(one, kind)(), getattr(other, kind)()):
                problems.append(f"other {kind} in result {place}")
        for image in range(5):
            a, b = (it[image].nan_to_num(0.0, 0.0, 0.0) for it in (one, other))
            if (a - b).abs().max() > 4e-3 * b.abs().max():
                problems.append(f"result {place}, image {image}: {(a - b).abs().max()} of {b.abs().max()}")
    for schedule in (1, 2):  # no program may see what another has written
        again = twins.outputs(x, schedule=schedule)
        if not all(torch.equal(a.view(torch.int32), b.view(torch.int32)) for a, b in zip(got, again, strict=True)):
            problems.append(f"other results where programs run in order {schedule}")
    alone = twins.outputs(x[4:])[0]
    if (alone[0] - got[0][4]).abs().max() > 1e-6 * alone.abs().max():
        problems.append("an image depends on its neighbors")
    return problems


def test_numbers_of_any_size_are_joined() -> None:
    plan = plan_of("dense", JOINED["dense"])
    assert interpreting(unusual, JOINED["dense"], plan.write(plan.tunings[0])) == []


@pytest.mark.parametrize("name", ["dense", "skips"])
def test_what_pytorch_computes_is_entered_or_left(name: str) -> None:
    plan = plan_of(name, JOINED[name])
    fewer = [one for one in plan.tunings if len(one.values) < len(plan.tunings[0].values)]
    kernels = [one for one in plan.kernels if one.kernel_type != "concatenation"]
    assert len(fewer) == len(kernels) > 3
    for tuning in fewer:
        assert interpreting(find_problems, JOINED[name], plan.write(tuning), ragged=False) == [], tuning


LARGE = task(
    "x = F.relu(self.a(x))\ny = torch.cat([x, self.c(F.relu(self.b(x)))], 1)\n"
    "return self.f(F.relu(self.e(torch.cat([y, self.d(y)], 1))))",
    "x = torch.randn(10, 64, 56, 56)",
    layers(
        "Conv2d(64, size, 3, padding=1)",
        "BatchNorm2d(size)",
        "Conv2d(size, 32, 3, padding=1)",
        "Conv2d(size + 32, 64, 3, padding=1)",
        "BatchNorm2d(size + 96)",
        "Conv2d(size + 96, 128, 1)",
    ),
    "128",
)


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_large_joined_images_fit_a_gpu(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    gpu, survey = REPRESENTATIVES[target], survey_task("joined", LARGE)
    assert survey.gpu is not None
    assert survey.graph is not None
    given = replace(survey.gpu, target=target, shared_bytes_per_block=gpu.shared_bytes_per_block)
    plan = make_plan(replace(survey, gpu=given), survey.graph, REGION_RECIPES)
    assert isinstance(plan, Plan), plan
    assert [takes for takes, _ in links(plan)] == [0, 1, 2, 1, 2, 1]
    kernels = compile_exact(LARGE, plan.write(plan.tunings[0]), target, str(tmp_path))
    assert {one.kernel: one.spills for one in kernels if one.spills} == {}
    assert all(one.shared_bytes <= gpu.shared_bytes_per_block for one in kernels)
