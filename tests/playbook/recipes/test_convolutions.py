"""Convolutions, from the graph to kernels: their values on ragged shapes, and what they need on a GPU."""

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
from tilesmith.playbook.recipes import REGION_RECIPES
from tilesmith.playbook.recipes.convolutions import ConvolutionsRecipe
from tilesmith.playbook.tuning import find_tuning
from tilesmith.tasks.gpus import REPRESENTATIVES

OTHER_RECIPES = tuple(one for one in REGION_RECIPES if one.name != "convolutions")
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
    "pointwise": task(
        "return torch.relu(self.norm(self.conv(x)) + y)",
        "x = torch.randn(2, 35, 13, 11)\ny = torch.randn(2, 24, 13, 11)",
        conv("Conv2d(35, size, 1, bias=False)", "BatchNorm2d(size)"),
        "24",
    ),
    "strided_pointwise": task(
        "return torch.relu(self.conv(x))", IMAGE, conv("Conv2d(5, size, 1, stride=(2, 3)).eval()"), "24"
    ),
    "wide_half_pointwise": task(
        "return F.silu(self.conv(x))",
        "x = torch.randn(3, 50, 40).mT.half()",
        conv("Conv1d(40, size, 1).half()"),
        "24",
    ),
    "depthwise": task(
        "return F.relu6(self.norm(self.conv(x))) + x",
        IMAGE,
        conv("Conv2d(size, size, 3, padding=1, groups=size, bias=False)", "BatchNorm2d(size)"),
        "5",
    ),
    "wide_depthwise": task(
        "return F.silu(self.conv(x))",
        "x = torch.randn(3, 50, 40).mT",
        conv("Conv1d(size, size, 5, stride=2, padding=3, dilation=2, groups=size)"),
        "40",
    ),
    "deep_depthwise": task(
        "return torch.relu(self.conv(x))",
        "x = torch.randn(2, 6, 5, 7, 6).bfloat16()",
        conv("Conv3d(size, size, (2, 3, 3), stride=(1, 1, 2), padding=(0, 1, 1), groups=size).bfloat16()"),
        "6",
    ),
    "transposed": task(
        "return torch.relu(self.norm(self.conv(x)))",
        IMAGE,
        conv("ConvTranspose2d(5, size, 3, stride=2, padding=1, output_padding=1)", "BatchNorm2d(size)"),
        "24",
    ),
    "transposed_in_steps": task(
        "return self.conv(x).sigmoid()",
        IMAGE,
        conv("ConvTranspose2d(5, size, (5, 4), stride=(3, 2), padding=(4, 0))"),
        "24",
    ),
    "transposed_dilated": task(
        "return torch.tanh(self.conv(x)) + 1",
        "x = torch.randn(3, 40, 21)",
        conv("ConvTranspose1d(40, size, 5, dilation=2, padding=3)"),
        "33",
    ),
    "transposed_deep": task(
        "return F.gelu(self.conv(x))",
        "x = torch.randn(2, 6, 3, 4, 5)",
        conv("ConvTranspose3d(6, size, (3, 2, 3), stride=(1, 2, 2), padding=(0, 0, 1))"),
        "20",
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
    "few_groups": task(
        "return torch.relu(self.norm(self.conv(x)))",
        "x = torch.randn(2, 14, 13, 11)",
        conv("Conv2d(14, size, (3, 2), padding=1, groups=2, bias=False)", "BatchNorm2d(size)"),
        "70",
    ),
    "transposed_groups": task(
        "return self.conv(x).sigmoid()",
        "x = torch.randn(2, 6, 13, 11)",
        conv("ConvTranspose2d(6, size, (5, 4), stride=(3, 2), padding=(4, 0), groups=3)"),
        "24",
    ),
}
BATCH_STATISTICS = """
y = self.conv(x)
centered = y - y.mean((0, 2, 3), keepdim=True)
spread = centered.square().mean((0, 2, 3), keepdim=True)
return torch.relu(centered * torch.rsqrt(spread + 1e-5)), spread
"""
CONVOLUTIONS["statistics"] = task(BATCH_STATISTICS, IMAGE, conv("Conv2d(5, size, 3, padding=1)"), "24")
WHERE_THEY_LIE = {
    "statistics_of_groups": task(BATCH_STATISTICS, IMAGE, conv("Conv2d(5, size, 3, groups=5)"), "20"),
    "largest": task("return (self.conv(x) * 2).amax((0, 2, 3))", IMAGE, conv("Conv2d(5, size, 3)"), "24"),
    "several_for_each_channel": task(
        "return F.silu(self.conv(x) * 2)", IMAGE, conv("Conv2d(5, 5 * size, 3, padding=1, groups=5)"), "3"
    ),
    "many_groups": task(
        "return torch.relu(self.norm(self.conv(x)))",
        "x = torch.randn(2, 24, 13, 11)",
        conv("Conv2d(24, size, 3, padding=1, groups=6, bias=False)", "BatchNorm2d(size)"),
        "30",
    ),
    "small_groups": task(
        "return torch.relu(self.conv(x)) * 2",
        "x = torch.randn(3, 64, 9, 7)",
        conv("Conv2d(64, size, 3, padding=1, groups=16)"),
        "32",
    ),
    "wide_groups": task(
        "return torch.relu(self.conv(x) + y)",
        "x = torch.randn(2, 33, 50)\ny = torch.randn(2, 120, 46)",
        conv("Conv1d(33, size, 3, dilation=2, groups=3)"),
        "120",
    ),
    "pointwise_groups": task(
        "return F.silu(self.conv(x))", "x = torch.randn(2, 20, 9, 7)", conv("Conv2d(20, size, 1, groups=4)"), "24"
    ),
    "half_groups": task(
        "return torch.relu(self.conv(x)) * 2",
        "x = torch.randn(2, 12, 9, 7).half()",
        conv("Conv2d(12, size, 3, padding='same', groups=3).half()"),
        "24",
    ),
    "stem": task(
        "return F.hardswish(self.norm(self.conv(x)))",
        "x = torch.rand(2, 3, 21, 19)",
        conv("Conv2d(3, size, 3, stride=2, padding=1, bias=False)", "BatchNorm2d(size)"),
        "16",
    ),
    "large_stem": task(
        "return torch.relu(self.conv(x))",
        "x = torch.rand(2, 3, 21, 19)",
        conv("Conv2d(3, size, 7, stride=2, padding=3)"),
        "40",
    ),
    "small_deep": task(
        "return F.gelu(self.conv(x))",
        "x = torch.randn(2, 6, 5, 7, 6)",
        conv("Conv3d(6, size, (3, 2, 3), stride=(1, 2, 1), padding=1)"),
        "20",
    ),
}
CONVOLUTIONS |= WHERE_THEY_LIE


def plan_of(name: str, text: str, precision: str = "default") -> Plan:
    survey = survey_task(name, text, precision)
    assert survey.graph is not None
    recipe = ConvolutionsRecipe(keeps_pytorch=False, copies=name not in WHERE_THEY_LIE)
    found = make_plan(survey, survey.graph, (*OTHER_RECIPES, recipe))
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


@pytest.mark.parametrize("name", ["norm", "colors", "many_groups"])
def test_every_tuning_is_right(name: str) -> None:
    plan = plan_of(name, CONVOLUTIONS[name])
    near = [one for stage in ("grid", "block", "memory") for one in plan.variations(plan.tunings[0], stage)]
    for tuning in dict.fromkeys((*plan.tunings[1:], *near)):
        assert interpreting(find_problems, CONVOLUTIONS[name], plan.write(tuning), ragged=False) == [], tuning


@pytest.mark.parametrize(
    "name", ["norm", "dilated", "wide", "transposed", "few_groups", "many_groups", "stem", "statistics"]
)
def test_without_tf32_three_products_are_exact(name: str) -> None:
    plan = plan_of(name, CONVOLUTIONS[name], "ieee")
    source = plan.write(plan.tunings[0])
    assert lint(read_kernel(source)).findings == ()
    assert interpreting(find_problems, CONVOLUTIONS[name], source, precision="ieee") == []
    rounded = plan_of(name, CONVOLUTIONS[name])
    assert interpreting(find_problems, CONVOLUTIONS[name], rounded.write(rounded.tunings[0]), precision="ieee")


def unusual(task_text: str, kernel: str) -> list[str]:
    """What differs where numbers are infinite, no numbers, or far from one."""
    import torch

    twins = Twins(task_text, kernel)
    torch.manual_seed(0)
    x = torch.randn(5, 64, 9, 7)
    x[0, 3, 4, 4], x[0, 4, 0, 0], x[1, 5, 8, 6] = float("inf"), float("-inf"), float("nan")
    x[2], x[3], x[4] = 0, x[3] * 1e30, x[4] * 1e-30
    (got,), (expected,) = twins.outputs(x), twins.expected(x)
    problems = [
        f"other {kind}"
        for kind in ("isnan", "isinf")
        if not torch.equal(*(getattr(one, kind)() for one in (got, expected)))
    ]
    for image in range(5):
        a, b = (one[image].nan_to_num(0.0, 0.0, 0.0) for one in (got, expected))
        if (a - b).abs().max() > 2e-3 * b.abs().max():
            problems.append(f"other values in image {image}")
    with torch.no_grad():
        for model in (twins.written, twins.reference):
            model.conv.weight.mul_(3)
    again = twins.error(x[2:3] + 1)
    return problems + ([f"an old weight: {again}"] if again > 0.1 else [])


@pytest.mark.parametrize(
    ("name", "precision"), [("bias", "default"), ("bias", "ieee"), ("small_groups", "default")]
)
def test_inf_and_nan_stay_where_they_are(name: str, precision: str) -> None:
    plan = plan_of(name, CONVOLUTIONS[name], precision)
    assert interpreting(unusual, CONVOLUTIONS[name], plan.write(plan.tunings[0])) == []


LARGE = {
    "residual": task(
        "return torch.relu(self.norm(self.conv(x)) + x)",
        "x = torch.randn(10, 128, 56, 56)",
        conv("Conv2d(128, size, 3, padding=1, bias=False)", "BatchNorm2d(size)"),
        "128",
    ),
    "colors": task(
        "return torch.relu(self.norm(self.conv(x)))",
        "x = torch.randn(10, 3, 224, 224)",
        conv("Conv2d(3, size, 7, stride=2, padding=3, bias=False)", "BatchNorm2d(size)"),
        "64",
    ),
    "deep": task(
        "return F.gelu(self.conv(x))",
        "x = torch.randn(4, 32, 32, 64, 64)",
        conv("Conv3d(32, size, 3, padding=1)"),
        "64",
    ),
    "depthwise": task(
        "return F.relu6(self.norm(self.conv(x)))",
        "x = torch.randn(32, 256, 112, 112)",
        conv("Conv2d(size, size, 3, padding=1, groups=size, bias=False)", "BatchNorm2d(size)"),
        "256",
    ),
    "transposed": task(
        "return F.gelu(self.conv(x))",
        "x = torch.randn(16, 32, 16, 32, 32)",
        conv("ConvTranspose3d(32, size, 3, stride=2, padding=1)"),
        "64",
    ),
    "pointwise": task(
        "return torch.relu(self.norm(self.conv(x)) + y)",
        "x = torch.randn(10, 64, 56, 56)\ny = torch.randn(10, 256, 56, 56)",
        conv("Conv2d(64, size, 1, bias=False)", "BatchNorm2d(size)"),
        "256",
    ),
    "small_groups": task(
        "return torch.relu(self.norm(self.conv(x)))",
        "x = torch.randn(32, 128, 56, 56)",
        conv("Conv2d(128, size, 3, padding=1, groups=32, bias=False)", "BatchNorm2d(size)"),
        "128",
    ),
    "large_groups": task(
        "return torch.relu(self.conv(x))",
        "x = torch.randn(32, 96, 27, 27)",
        conv("Conv2d(96, size, 5, padding=2, groups=2)"),
        "256",
    ),
    "pointwise_groups": task(
        "return torch.relu(self.norm(self.conv(x)) + y)",
        "x = torch.randn(64, 60, 28, 28)\ny = torch.randn(64, 240, 28, 28)",
        conv("Conv2d(60, size, 1, groups=3, bias=False)", "BatchNorm2d(size)"),
        "240",
    ),
    "stem": task(
        "return F.hardswish(self.norm(self.conv(x)))",
        "x = torch.rand(128, 3, 224, 224)",
        conv("Conv2d(3, size, 3, stride=2, padding=1, bias=False)", "BatchNorm2d(size)"),
        "16",
    ),
    "training_norm": task(
        "return torch.relu(self.norm(self.conv(x)))",
        "x = torch.randn(32, 64, 112, 112)",
        owner("self.conv = nn.Conv2d(64, size, 3, padding=1, bias=False)", "self.norm = nn.BatchNorm2d(size)"),
        "64",
    ),
    "half": task(
        "return F.gelu(self.conv(x))",
        "x = torch.randn(10, 256, 56, 56).half()",
        conv("Conv2d(256, size, 3, padding=1).half()"),
        "256",
    ),
}


@pytest.mark.parametrize(
    ("name", "target"),
    on_targets(
        [*LARGE, "ieee"],
        {
            "half": "sm_90",
            "depthwise": "sm_80",
            "transposed": "sm_80",
            "ieee": "sm_90",
            "small_groups": "sm_90",
            "training_norm": "sm_80",
        },
    ),
)
def test_large_convolutions_fit_a_gpu(
    name: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    gpu, text = REPRESENTATIVES[target], LARGE.get(name, LARGE["residual"])
    survey = survey_task(name, text, "ieee" if name == "ieee" else "default")
    assert survey.gpu is not None
    assert survey.graph is not None
    given = replace(survey.gpu, target=target, shared_bytes_per_block=gpu.shared_bytes_per_block)
    plan = make_plan(replace(survey, gpu=given), survey.graph, REGION_RECIPES)
    assert isinstance(plan, Plan), plan
    assert [region.recipe for region in plan.regions] == ["convolutions"]
    kernels = compile_exact(text, plan.write(plan.tunings[0]), target, str(tmp_path))
    assert {one.kernel: one.spills for one in kernels if one.spills} == {}
    assert all(one.shared_bytes <= gpu.shared_bytes_per_block for one in kernels)


@pytest.mark.parametrize(
    "text",
    [
        task(
            "return torch.relu(self.conv(x))", "x = torch.randn(1, 512, 7, 7)", conv("Conv2d(512, size, 3)"), "512"
        ),
        task("return self.conv(x)", "x = torch.randn(16, 64, 112, 112)", conv("Conv2d(64, size, 1)"), "64"),
        task(
            "return self.conv(x)",
            "x = torch.randn(16, 64, 112, 112).half()",
            conv("Conv2d(64, size, 3).half()"),
            "64",
        ),
    ],
    ids=["small_and_deep", "bare_pointwise", "bare_half"],
)
def test_what_the_library_does_as_well_stays(text: str) -> None:
    survey = survey_task("kept", text)
    assert survey.graph is not None
    found = make_plan(survey, survey.graph, REGION_RECIPES)
    assert not isinstance(found, Plan) or "convolutions" not in [region.recipe for region in found.regions]
