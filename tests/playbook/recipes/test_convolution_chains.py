"""Convolutions in a row: their images stay halves, channels-last, from one kernel to the next."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playbook_children import Twins, compile_exact, find_problems, interpreting
from playbook_judging import on_targets
from playbook_surveys import survey_task
from playbook_tasks import owner, task

from tilesmith.lint import lint, read_kernel
from tilesmith.playbook.plan.making import make_plan
from tilesmith.playbook.plan.plan import Plan
from tilesmith.playbook.recipe import ChainedMatch
from tilesmith.playbook.recipes import REGION_RECIPES
from tilesmith.playbook.recipes.convolutions import ConvolutionsRecipe
from tilesmith.playbook.tuning import find_tuning
from tilesmith.tasks.gpus import REPRESENTATIVES

ALL_CONVOLUTIONS = (
    *(one for one in REGION_RECIPES if one.name != "convolutions"),
    ConvolutionsRecipe(keeps_pytorch=False),
)


def layers(*texts: str) -> str:
    made = [f"self.{name} = nn.{text}" for name, text in zip("abcdef", texts, strict=False)]
    return owner(*made, "self.pool = nn.MaxPool2d(2)", "self.eval()")


CHAINS = {
    "pools": task(
        "x = self.pool(F.relu(self.b(F.relu(self.a(x)))))\nreturn self.pool(F.relu(self.c(x))).flatten(1)",
        "x = torch.randn(3, 3, 17, 14)",
        layers(
            "Conv2d(3, size, 3, padding=1)",
            "Conv2d(size, 24, 3, padding=1)",
            "Conv2d(24, 40, (3, 2), stride=(1, 2), padding=1)",
        ),
        "16",
    ),
    "skips": task(
        "y = F.relu(self.b(self.a(x)))\nz = F.relu(self.d(self.c(y)))\nreturn F.gelu(self.f(self.e(z)) + y)",
        "x = torch.randn(2, 5, 9, 7)",
        layers(
            "Conv2d(5, size, 3, padding=1, bias=False)",
            "BatchNorm2d(size)",
            "Conv2d(size, size, 3, padding=1, bias=False)",
            "BatchNorm2d(size)",
            "Conv2d(size, size, 3, padding='same', dilation=2, bias=False)",
            "BatchNorm2d(size)",
        ),
        "24",
    ),
    "stem": task(
        "y = F.max_pool2d(F.relu(self.b(self.a(x))), 3, 2, 1)\nz = F.relu(self.c(y) + y)\n"
        "return F.max_pool2d(F.relu(self.d(z) + z), (3, 1), (2, 1), ceil_mode=True)",
        "x = torch.randn(2, 3, 21, 14)",
        layers(
            "Conv2d(3, size, 7, stride=2, padding=3, bias=False)",
            "BatchNorm2d(size)",
            "Conv2d(size, size, 3, padding=1)",
            "Conv2d(size, size, 1)",
        ),
        "16",
    ),
    "own_skip": task(
        "y = F.silu(self.a(x))\nreturn self.c(torch.sigmoid(self.b(y)) * y + y)",
        "x = torch.randn(2, 8, 9, 7)",
        layers("Conv2d(8, size, 3)", "Conv2d(size, size, 3, padding=1)", "Conv2d(size, 10, 1)"),
        "16",
    ),
    "other_forms": task(
        "y = F.relu(self.a(x))\nz = F.relu(self.b(y).half())\n"
        "return F.relu(self.a(x).transpose(2, 3)) + 1, F.max_pool2d(z, 2), F.relu(self.c(y)).flatten(2)",
        "x = torch.randn(2, 8, 9, 9)",
        layers("Conv2d(8, size, 3, padding=1)", "Conv2d(size, 24, 3)", "Conv2d(size, 24, 1)"),
        "16",
    ),
    "depthwise": task(
        "y = F.relu6(self.b(F.relu6(self.a(x))))\nz = F.relu6(self.d(y) + y)\nreturn self.f(F.silu(self.e(z)))",
        "x = torch.randn(2, 3, 17, 14)",
        layers(
            "Conv2d(3, size, 3, stride=2, padding=1)",
            "Conv2d(size, 24, 1)",
            "BatchNorm2d(24)",
            "Conv2d(24, 24, 3, padding=1, groups=24)",
            "Conv2d(24, 24, 5, stride=2, padding=2, groups=24, bias=False)",
            "Conv2d(24, 10, 1)",
        ),
        "16",
    ),
    "long": task(
        "return self.c(F.relu(self.b(F.relu(self.a(x)))))",
        "x = torch.randn(2, 8, 70)",
        layers("Conv1d(8, size, 3)", "Conv1d(size, 16, 41, padding=20)", "Conv1d(16, 9, 1)"),
        "16",
    ),
    "deep": task(
        "return F.avg_pool3d(F.hardtanh(self.b(F.leaky_relu(self.a(x), 0.1)), -2.0, 3.0), (1, 2, 2))",
        "x = torch.randn(2, 6, 5, 7, 6)",
        layers("Conv3d(6, size, 3, padding=1)", "Conv3d(size, 9, (1, 3, 3), padding=(0, 1, 1))"),
        "16",
    ),
}


def plan_of(name: str, text: str, precision: str = "default") -> Plan:
    survey = survey_task(name, text, precision)
    assert survey.graph is not None
    found = make_plan(survey, survey.graph, ALL_CONVOLUTIONS)
    assert isinstance(found, Plan), found
    return found


def links(plan: Plan) -> list[tuple[int, bool]]:
    """How many tuples each convolution takes, and whether it gives one."""
    layouts = [one.match.layout for one in plan.regions if isinstance(one.match, ChainedMatch)]
    return [(len(one.takes), one.gives) for one in layouts]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pools", [(0, True), (1, True), (1, False)]),
        ("skips", [(0, True), (1, True), (2, False)]),
        ("stem", [(0, True), (1, True), (1, True), (1, True), (1, False)]),
        ("own_skip", [(0, True), (1, True), (1, False)]),
        ("other_forms", [(0, False)] * 5),
        ("depthwise", [(0, True), (1, True), (1, True), (1, True), (1, False)]),
        ("long", [(0, True), (1, True), (1, False)]),
        ("deep", [(0, True), (1, False)]),
    ],
)
def test_values_are_right(name: str, expected: list[tuple[int, bool]]) -> None:
    plan = plan_of(name, CHAINS[name])
    assert links(plan) == expected
    source = plan.write(plan.tunings[0])
    assert lint(read_kernel(source)).findings == ()
    assert find_tuning(plan, source) == plan.tunings[0]
    assert interpreting(find_problems, CHAINS[name], source) == []


@pytest.mark.parametrize("name", ["pools", "skips", "stem"])
def test_what_pytorch_computes_breaks_the_chain(name: str) -> None:
    plan = plan_of(name, CHAINS[name])
    fewer = [one for one in plan.tunings if len(one.values) < len(plan.tunings[0].values)]
    assert len(fewer) == len(plan.kernels) > 2
    for tuning in fewer:
        assert interpreting(find_problems, CHAINS[name], plan.write(tuning), ragged=False) == [], tuning


def test_without_tf32_nothing_is_kept_in_halves() -> None:
    plan = plan_of("pools", CHAINS["pools"], "ieee")
    assert set(links(plan)) == {(0, False)}
    assert interpreting(find_problems, CHAINS["pools"], plan.write(plan.tunings[0]), precision="ieee") == []


def unusual(task_text: str, kernel: str) -> list[str]:
    """What differs where numbers are infinite, no numbers, far beyond the halves or far below them."""
    import torch

    twins = Twins(task_text, kernel)
    torch.manual_seed(0)
    x = torch.randn(5, 5, 9, 7)
    x[0, 3, 4, 4], x[0, 4, 0, 0] = float("inf"), float("nan")
    x[1], x[2], x[3] = 0, x[2] * 1e25, x[3] * 1e-25
    with torch.no_grad():
        for model in (twins.written, twins.reference):
            model.c.weight.mul_(1e6)  # between the convolutions numbers are beyond what a half holds
            model.e.weight.mul_(1e-9)
    (got,), (expected,) = twins.outputs(x), twins.expected(x)
    problems = [
        f"other {kind}"
        for kind in ("isnan", "isinf")
        if not torch.equal(*(getattr(one, kind)() for one in (got, expected)))
    ]
    for image in range(5):
        a, b = (one[image].nan_to_num(0.0, 0.0, 0.0) for one in (got, expected))
        if (a - b).abs().max() > 4e-3 * b.abs().max():
            problems.append(f"other values in image {image}: {(a - b).abs().max()} of {b.abs().max()}")
    alone = twins.outputs(x[4:])[0]
    if (alone[0] - got[4]).abs().max() > 1e-6 * alone.abs().max():
        problems.append("an image depends on its neighbors")
    return problems


def test_numbers_of_any_size_pass() -> None:
    plan = plan_of("skips", CHAINS["skips"])
    assert interpreting(unusual, CHAINS["skips"], plan.write(plan.tunings[0])) == []


LARGE = {
    "vgg": task(
        "x = self.pool(F.relu(self.b(F.relu(self.a(x)))))\nreturn self.pool(F.relu(self.d(F.relu(self.c(x)))))",
        "x = torch.randn(10, 3, 224, 224)",
        layers(
            "Conv2d(3, size, 3, padding=1)",
            "Conv2d(size, size, 3, padding=1)",
            "Conv2d(size, 128, 3, padding=1)",
            "Conv2d(128, 256, 3, padding=1)",
        ),
        "64",
    ),
    "residual": task(
        "y = F.relu(self.b(self.a(x)))\nz = F.relu(self.d(self.c(y)))\nreturn F.relu(self.f(self.e(z)) + y)",
        "x = torch.randn(10, 64, 56, 56)",
        layers(
            "Conv2d(64, size, 3, padding=1, bias=False)",
            "BatchNorm2d(size)",
            "Conv2d(size, size, 3, padding=1, bias=False)",
            "BatchNorm2d(size)",
            "Conv2d(size, size, 3, padding=1, bias=False)",
            "BatchNorm2d(size)",
        ),
        "128",
    ),
    "few_places": task(
        "y = F.relu(self.b(self.a(x)))\nreturn F.relu(self.d(self.c(F.relu(self.e(y)))) + y)",
        "x = torch.randn(10, 256, 14, 14)",
        layers(
            "Conv2d(256, size, 3, padding=1, bias=False)",
            "BatchNorm2d(size)",
            "Conv2d(size, size, 3, padding=1, bias=False)",
            "BatchNorm2d(size)",
            "Conv2d(size, size, 3, padding=1, groups=size)",
        ),
        "256",
    ),
}


@pytest.mark.parametrize(("name", "target"), on_targets(LARGE, {"few_places": "sm_80"}))
def test_large_chains_fit_a_gpu(name: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    gpu, survey = REPRESENTATIVES[target], survey_task(name, LARGE[name])
    assert survey.gpu is not None
    assert survey.graph is not None
    given = replace(survey.gpu, target=target, shared_bytes_per_block=gpu.shared_bytes_per_block)
    plan = make_plan(replace(survey, gpu=given), survey.graph, REGION_RECIPES)
    assert isinstance(plan, Plan), plan
    assert [gives for _, gives in links(plan)] == [True] * (len(plan.regions) - 1) + [False]
    kernels = compile_exact(LARGE[name], plan.write(plan.tunings[0]), target, str(tmp_path))
    assert {one.kernel: one.spills for one in kernels if one.spills} == {}
    assert all(one.shared_bytes <= gpu.shared_bytes_per_block for one in kernels)
