"""Whole modules: what becomes a kernel, what stays PyTorch's, and that the file says and does both."""

from __future__ import annotations

from pathlib import Path

import pytest
from playbook_children import find_differences, find_problems, interpreting
from playbook_surveys import survey_task
from playbook_tasks import owner, task

from tilesmith.judge import Judge
from tilesmith.playbook import find_match
from tilesmith.playbook.plan.making import make_plan
from tilesmith.playbook.plan.plan import Plan
from tilesmith.playbook.recipes import REGION_RECIPES
from tilesmith.playbook.recipes.products import ProductsRecipe
from tilesmith.playbook.tuning import find_tuning
from tilesmith.records import Verdict

LINEARS = owner("self.up = nn.Linear(size, 2 * size)", "self.down = nn.Linear(2 * size, size, bias=False)")
BLOCK = task(
    "q, k, v = self.qkv(self.first(x)).chunk(3, -1)\n"
    "x = x + self.out(F.scaled_dot_product_attention(q, k, v))\n"
    "return x + F.gelu(self.second(x)) * 0.5",
    "x = torch.randn(3, 20, 32)",
    owner(
        "self.first, self.second = nn.LayerNorm(size), nn.LayerNorm(size)",
        "self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)",
    ),
    "32",
)
CONVOLUTION = task(
    "return torch.sigmoid(self.act(self.norm(self.conv(x)))) * 2",
    "x = torch.randn(2, 4, 9, 9)",
    owner("self.conv, self.norm = nn.Conv2d(size, 6, 3), nn.BatchNorm2d(6)", "self.act = nn.ReLU(inplace=True)"),
    "4",
)
ROTARY = task(
    "t = torch.arange(q.shape[-2], device=q.device).float()\n"
    "angles = torch.outer(t, self.frequencies)\n"
    "angles = torch.cat((angles, angles), -1)\n"
    "def turned(x):\n"
    "    a, b = x.chunk(2, -1)\n"
    "    return torch.cat((-b, a), -1)\n"
    "return q * angles.cos() + turned(q) * angles.sin(), k * angles.cos() + turned(k) * angles.sin()",
    "q = torch.randn(2, 3, 10, 8)\nk = torch.randn(2, 3, 10, 8)",
    owner('self.register_buffer("frequencies", 1 / 10000 ** (torch.arange(0, size, 2).float() / size))'),
    "8",
)
MLP = task("return x + self.down(F.gelu(self.up(x))) * 0.5", "x = torch.randn(3, 11, 40)", LINEARS, "40")
PRODUCT = task("return torch.relu(a @ b)", "a = torch.randn(37, 29)\nb = torch.randn(29, 45)")
LOSS = task(
    "return torch.clamp(1 - F.dropout(self.up(x), 0.1, False) * t, min=0).mean() * 2",
    "x = torch.randn(30, 40)\nt = torch.randn(30, 80)",
    LINEARS,
    "40",
)
TOTAL = task("return ((p - t) ** 2).sum()", "p = torch.randn(13, 1, 57)\nt = torch.randn(13, 21, 57)")
SMALL_PRODUCTS = (*REGION_RECIPES[:-1], ProductsRecipe(keeps_pytorch=False))


def plan_of(name: str, text: str) -> Plan:
    survey = survey_task(name, text)
    assert survey.graph is not None
    found = make_plan(survey, survey.graph, SMALL_PRODUCTS)
    assert isinstance(found, Plan), found
    return found


@pytest.mark.parametrize(
    ("name", "text", "kernels", "kept"),
    [
        ("block", BLOCK, ["linear", "linear_add", "fused_add"], "F.scaled_dot"),
        ("convolution", CONVOLUTION, ["relu_sigmoid_mul"], "torch.conv2d(x, self.conv.weight"),
        ("rotary", ROTARY, ["fused_sin", "fused_add", "fused_add"], ""),
        ("mlp", MLP, ["linear_gelu", "linear_mul_add"], ""),
        ("product", PRODUCT, ["matmul_relu"], ""),
        ("loss", LOSS, ["fused_clamp", "mean_mul"], ""),
        ("total", TOTAL, ["sub_pow_sum"], "sub_pow_sum_kernel[(1,)]"),
    ],
)
def test_the_judge_passes_what_a_plan_writes(
    judge: Judge, tmp_path: Path, name: str, text: str, kernels: list[str], kept: str
) -> None:
    plan = plan_of(name, text)
    assert [region.match.name for region in plan.regions] == kernels
    written = plan.write(plan.tunings[0])
    assert kept.replace("F.", "nn.functional.") in written
    (tmp_path / "task.py").write_text(text)
    (tmp_path / "kernel.py").write_text(written)
    evaluation = judge.check(tmp_path / "task.py", tmp_path / "kernel.py")
    assert evaluation.verdict is Verdict.PASSED, evaluation.reason
    assert evaluation.errors is not None


def test_a_tuning_is_read_back_with_the_regions_that_are_kernels() -> None:
    plan = plan_of("mlp", MLP)
    fewer = plan.tunings[-1]
    assert len(plan.tunings[0].values) == 2 * len(fewer.values)
    for tuning in (plan.tunings[0], fewer, *plan.variations(plan.tunings[0], "memory")):
        assert find_tuning(plan, plan.write(tuning)) == tuning
    assert "nn.functional.linear" in plan.write(fewer)


def test_batch_norm_in_training_keeps_its_effects() -> None:
    written = plan_of("convolution", CONVOLUTION).write(plan_of("convolution", CONVOLUTION).tunings[0])
    assert "self.norm.num_batches_tracked.add_(1)" in written
    assert "self.norm.running_mean, self.norm.running_var, True" in written


def test_what_is_computed_from_numbers_is_passed_on() -> None:
    text = task(
        "return torch.clamp(x, -limit, limit) * (1 - rate) + torch.tanh(x) / (limit * rate)",
        "x = torch.randn(20, 10)\nlimit = 0.7371\nrate = 0.3131",
    )
    source = plan_of("limits", text).write(plan_of("limits", text).tunings[0])
    assert "(x, -limit, limit, 1 - rate, limit * rate)" in source
    assert "written for" not in source
    for other in (text, text.replace("0.7371", "0.25").replace("0.3131", "0.9")):
        assert interpreting(find_problems, other, source, ragged=False) == []


@pytest.mark.parametrize(
    ("forward", "held"),
    [
        ("torch.relu(x) * a * -b", ["a", "b"]),  # both are 0.7371: nobody knows which
        ("torch.relu(x) * a * (x.shape[0] * b)", ["b"]),
        ("torch.relu(x) * a * (2 * b)", ["b"]),
        ("torch.relu(x) * a * (1 if b < 0 else 2)", ["b"]),
    ],
)
def test_a_number_that_cannot_be_told_is_held_to_its_value(forward: str, held: list[str]) -> None:
    plan = plan_of("held", task(f"return {forward}", "x = torch.randn(20, 10)\na = 0.7371\nb = -0.7371"))
    text = plan.write(plan.tunings[0])
    assert [name for name in "ab" if f'"written for {name} = ' in text] == held


def test_an_attribute_is_not_an_argument_of_the_same_name() -> None:
    text = task(
        "return torch.relu(x) * self.b + (1 if b > 0 else 2)",
        "x = torch.randn(20, 10)\nb = 0.7371",
        owner("self.b = 0.3131"),
        "4",
    )
    source = plan_of("attribute", text).write(plan_of("attribute", text).tunings[0])
    assert "(x, self.b)" in source
    assert "written for b = 0.7371" in source


def test_a_plain_argument_is_held_to_its_value() -> None:
    written = plan_of("flag", task("return torch.relu(x * 2 if s else x)", "x = torch.randn(20, 10)\ns = True"))
    assert 'if s is not True:\n            raise ValueError("written for s = True")' in written.write(
        written.tunings[0]
    )


@pytest.mark.parametrize(
    "forward",
    [
        "y = x * 2\ny[:, 0].mul_(3)\nreturn torch.relu(y + 1) * 3",
        "h = torch.relu(x) * 2\nd = h.detach()\nh.select(1, 0).zero_()\nreturn d.sigmoid() * 2 + h.cumsum(0)",
        "h = torch.relu(x) * 2\nh.ravel().add_(1)\nreturn torch.sigmoid(h) * 2 + 1",
        "x.mul_(2)\nreturn torch.relu(x + 1) * 3",
        "e = self.b.exp() * 2\ntorch.add(x, 1.0, out=self.b)\nreturn e * 3 + self.b.sin()",
        "y = torch.relu(x.t()) * 2\nz = y.reshape(-1)\nz[:3].fill_(1.5)\nreturn y.sigmoid() * 2, z + 1",
        "y = torch.relu(x) * 2\nz = y.clone()\nz[0].zero_()\nreturn y.sigmoid() * z",
        "y = (x * 2).unsqueeze_(0)\ny.add_(1)\nreturn torch.relu(y) * 2",
        "e = x.exp() * 2\nself.b = e + self.b\nreturn torch.tanh(self.b) * 3",
    ],
)
def test_memory_that_others_look_at_keeps_its_values(forward: str) -> None:
    held = owner('self.register_buffer("b", torch.zeros(12, 7))', arguments="size=7")
    text = task(forward, "x = torch.randn(12, 7)", held)
    plan = plan_of("written", text)
    assert interpreting(find_differences, text, plan.write(plan.tunings[0]), True) == []


@pytest.mark.parametrize(
    ("forward", "kept"),
    [
        (
            'return torch.ops.aten.einsum.default("ab,bc,a->ac", [z, y, z.sum(1)], path=[0, 1, 0, 1])',
            "torch.einsum('ab,bc,a->ac', mul, y, sum_1)",
        ),
        ("return z.view(torch.int32)", "mul.view(torch.int32)"),
    ],
)
def test_an_operator_that_stays_is_called_as_pytorch_takes_it(forward: str, kept: str) -> None:
    text = task(f"z = torch.relu(x) * 2\n{forward}", "x = torch.randn(8, 10)\ny = torch.randn(10, 6)")
    plan = plan_of("kept", text)
    written = plan.write(plan.tunings[0])
    assert kept in written
    assert interpreting(find_differences, text, written, True) == []


def test_every_tuning_can_be_written() -> None:
    for text in (MLP, BLOCK, MLP.replace("x + self.down", "self.down").replace(" * 0.5", "")):
        plan = plan_of("every", text)
        for tuning in plan.tunings:
            assert find_tuning(plan, plan.write(tuning)) == tuning


def test_an_argument_left_at_its_default_is_held_to_it() -> None:
    text = task("return torch.relu(x) * scale", "x = torch.randn(20, 10)").replace("self, x", "self, x, scale=1.7")
    plan = plan_of("default", text)
    assert "if scale != 1.7:" in plan.write(plan.tunings[0])


def test_a_constant_of_the_task_gets_out_of_the_way() -> None:
    plan = plan_of("own", task("return x * 2", "x = torch.randn(4)", owner("self.size = BLOCK"), "1", "BLOCK = 7"))
    assert "BLOCK = 7" in (written := plan.write(plan.tunings[0]))
    assert "MUL_BLOCK = 1024" in written


def test_a_single_operator_beside_others_stays_pytorchs() -> None:
    one = task("return torch.relu(self.up(x))", "x = torch.randn(6, 4)", owner("self.up = nn.Conv1d(6, 6, 3)"), "4")
    found = find_match(survey_task("conv_relu", one))
    assert not isinstance(found, Plan)


@pytest.mark.parametrize(("rows", "is_kernel"), [(2048, True), (64, False)])
def test_a_large_norm_that_pytorch_is_slow_at_gets_a_kernel_of_its_own(rows: int, is_kernel: bool) -> None:
    one = task(
        "return torch.sort(self.norm(torch.sort(x)[0]))[0]",
        f"x = torch.randn({rows}, 512)",
        owner("self.norm = nn.LayerNorm(size)"),
        "512",
    )
    assert isinstance(find_match(survey_task("norm_between", one)), Plan) == is_kernel


def test_modules_under_numbers_are_found_in_a_plain_module() -> None:
    numbered = owner("self.add_module('0', nn.LayerNorm(size))")
    text = task("return getattr(self, '0')(x) * 2", "x = torch.randn(6, 4)", numbered, "4")
    plan = plan_of("numbered", text)
    assert "getattr(self, '0').weight" in plan.write(plan.tunings[0])


def test_memory_is_let_go_as_soon_as_nobody_needs_it() -> None:
    text = task(
        "h = torch.sort(torch.relu(x * 2))[0]\nreturn torch.relu(torch.sort(h * 3 + 1)[0] - 1)",
        "x = torch.randn(512, 1024)",
    )
    written = plan_of("sorted", text).write(plan_of("sorted", text).tunings[0])
    assert "        del relu" in written


def test_every_kernel_makes_its_own_views_of_what_others_made() -> None:
    text = task(
        "h = torch.sort(x)[0]\na, b, c = h.chunk(3, -1)\n"
        "return torch.relu(a * b) + 1, F.softmax(c.transpose(1, 2) * 2, -1), torch.sort(c)[0]",
        "x = torch.randn(16, 20, 1536)",
    )
    plan = plan_of("chunks", text)
    written = plan.write(plan.tunings[0])
    assert [region.recipe for region in plan.regions] == ["elementwise", "rows"]
    forward = written.split("def forward")[1]
    assert forward.count(".chunk(3") == 1
    assert forward.index("softmax(getitem)") < forward.index("del getitem")
    assert interpreting(find_problems, text.replace("16, 20, 1536", "4, 20, 60"), written, ragged=False) == []


@pytest.mark.parametrize(
    ("forward", "is_held"),
    [
        ("return torch.relu(x) * s + s", False),
        ("return torch.relu(s * x) + 1", False),
        ("y = torch.relu(x) * s\nreturn y + 1 if s > 0.5 else y", True),
        ("return torch.relu(x) * s + (1 - s)", False),
        ("return torch.relu(x) * s + (4 - s)", True),
    ],
)
def test_a_number_that_the_pass_looks_at_is_held_to_its_value(forward: str, is_held: bool) -> None:
    plan = plan_of("number", task(forward, "x = torch.randn(20, 10)\ns = 0.75"))
    written = plan.write(plan.tunings[0])
    assert ("if s != 0.75:" in written) is is_held
    assert ("(x, s" in written) is not is_held


SEQUENCE = """
import torch
import torch.nn as nn

class Model(nn.Sequential):
    def __init__(self, size):
        super().__init__(nn.LayerNorm(size), nn.GELU(), nn.LayerNorm(size))

def get_inputs():
    return [torch.randn(30, 40)]

def get_init_inputs():
    return [40]
"""


def test_a_forward_of_an_imported_class_is_planned() -> None:
    match = find_match(survey_task("sequence", SEQUENCE))
    assert isinstance(match, Plan)
    source = match.write(match.tunings[0])
    assert "def forward(self, input):" in source
    assert interpreting(find_problems, SEQUENCE, source, launches=1) == []
