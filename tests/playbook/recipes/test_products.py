"""Products, from the graph to kernels: their values on ragged shapes, and what they need on a GPU."""

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
from tilesmith.playbook.recipes.products import ProductsRecipe
from tilesmith.playbook.tuning import find_tuning
from tilesmith.tasks.gpus import REPRESENTATIVES
from tilesmith.tasks.numbers.varying import remember_varying

ALL_PRODUCTS = (*(one for one in REGION_RECIPES if one.name != "products"), ProductsRecipe(keeps_pytorch=False))
LINEAR = owner("self.up = nn.Linear(size, 90)")
WEIGHT = owner("self.weight = nn.Parameter(torch.randn(size, 90))")


def pair(left: str, right: str, how: str = "") -> str:
    return f"a = torch.randn({left}){how}\nb = torch.randn({right}){how}"


PRODUCTS = {
    "rows": task("return torch.relu(self.up(x)) * 2", "x = torch.randn(70, 40)", LINEAR, "40"),
    "rows_of_batches": task(
        "return torch.relu(self.up(x)) + x.sum(-1, keepdim=True) * 0", "x = torch.randn(3, 30, 40)", LINEAR, "40"
    ),
    "untransposed_weight": task("return x @ self.weight", "x = torch.randn(70, 40)", WEIGHT, "40"),
    "transposed_weight": task("return x @ self.weight.t()", "x = torch.randn(70, 90)", WEIGHT, "40"),
    "both_transposed": task("return torch.relu(a.t() @ b.t())", pair("29, 75", "45, 29")),
    "strided": task("return torch.relu(a @ b)", "a = torch.randn(29, 75).t()\nb = torch.randn(90, 29)[::2].t()"),
    "batches": task("return torch.bmm(a, b) * 0.5", pair("3, 70, 33", "3, 33, 20")),
    "heads": task(
        "return (a.transpose(1, 2) @ b.permute(0, 2, 3, 1)) * 0.125", pair("2, 66, 3, 16", "2, 21, 3, 16")
    ),
    "broadcast_batches": task(
        "return a @ b + c", pair("4, 1, 65, 17", "3, 17, 18") + "\nc = torch.randn(4, 1, 65, 18)"
    ),
    "right_batches": task("return torch.tanh(a @ b)", pair("65, 17", "3, 17, 18")),
    "einsum": task("return torch.einsum('bhid,bhjd->bhij', a, b) * 0.3", pair("2, 3, 65, 16", "2, 3, 21, 16")),
    "einsum_swapped": task("return torch.einsum('ki,bjk->bji', a, b)", pair("19, 65", "3, 21, 19")),
    "einsum_rows": task("return torch.einsum('bijd,bkd->bijk', a, b)", pair("2, 3, 65, 16", "2, 21, 16")),
    "scaled_addmm": task(
        "return torch.addmm(c, a, b, beta=0.5, alpha=2.0)", pair("65, 17", "17, 18") + "\nc = torch.randn(18)"
    ),
    "baddbmm": task(
        "return torch.baddbmm(c, a, b, beta=0)", pair("2, 65, 17", "2, 17, 18") + "\nc = torch.randn(18)"
    ),
    "upper_triangle": task("return torch.triu(a, 3) @ b", pair("150, 150", "150, 70")),
    "lower_triangles": task("return torch.relu(torch.tril(a) @ torch.tril(b, -2))", pair("150, 150", "150, 150")),
    "turned_triangle": task("return a @ torch.triu(b).t()", pair("90, 150", "140, 150")),
    "triangle_of_a_product": task("return torch.tril(a @ b, 1) * 2", pair("150, 40", "40, 170")),
    "triangular_weight": task(
        "return x @ self.weight.triu()",
        "x = torch.randn(70, 150)",
        owner("self.weight = nn.Parameter(torch.randn(size, 90))"),
        "150",
    ),
    "few_rows_of_a_triangle": task("return x @ torch.tril(b)", "x = torch.randn(5, 150)\nb = torch.randn(150, 90)"),
    "itself": task("return x @ x.t() / 4", "x = torch.randn(66, 40)"),
    "few_rows": task("return F.silu(self.up(x))", "x = torch.randn(5, 40)", LINEAR, "40"),
    "vector": task("return torch.relu(self.weight @ x)", "x = torch.randn(90)", WEIGHT, "40"),
    "vector_first": task("return torch.relu(x @ self.weight)", "x = torch.randn(40)", WEIGHT, "40"),
    "batches_and_a_vector": task("return torch.tanh(x @ b) * 2", "x = torch.randn(3, 21, 40)\nb = torch.randn(40)"),
    "one_score": task(
        "return torch.sigmoid(self.up(x))",
        "x = torch.randn(3, 21, 40)",
        owner("self.up = nn.Linear(size, 1)"),
        "40",
    ),
    "matrix_vector": task("return torch.mv(a, b)", pair("70, 40", "40")),
    "vector_long_sum": task("return torch.mv(a, b) + 1", pair("70, 5000", "5000")),
    "vector_first_long_sum": task("return torch.relu(x @ b)", "x = torch.randn(1500)\nb = torch.randn(1500, 70)"),
    "few_rows_long_sum": task("return F.silu(self.up(x))", "x = torch.randn(5, 1500)", LINEAR, "1500"),
    "few_half_rows_long_sum": task(
        "return F.silu(self.up(x))",
        "x = torch.randn(5, 1500).half()",
        owner("self.up = nn.Linear(size, 90).half()"),
        "1500",
    ),
    "long_sum": task("return torch.relu(a @ b) + 1", pair("65, 1100", "1100, 70")),
    "cut_halves": task("return torch.relu(a @ b) + 1", pair("65, 1100", "1100, 400")),
    "half": task("return F.gelu(a @ b) + c", pair("70, 33", "33, 20", ".half()") + "\nc = torch.randn(20).half()"),
    "bfloat": task(
        "return F.relu(self.up(x)) + x[:, :1]",
        "x = torch.randn(70, 40, dtype=torch.bfloat16)",
        owner("self.up = nn.Linear(size, 90, dtype=torch.bfloat16)"),
        "40",
    ),
}
DESCRIBED = {
    "rows_of_batches": task(
        "y = self.up(x)\nreturn F.gelu(y) + x[..., :1], y.float() * 2, y + 1",
        "x = torch.randn(3, 100, 72).half()",
        owner("self.up = nn.Linear(size, 264).half()"),
        "72",
    ),
    "both_across": task("return torch.relu(a.t() @ b) + 1", pair("80, 264", "80, 296", ".bfloat16()")),
    "strided": task("return torch.relu(a @ b.t())", pair("264, 96", "328, 96", ".half()[:, 5:77]")),
    "float_result": task("return (a @ b).float() * 0.3", pair("264, 96", "96, 328", ".half()")),
}
"""Halves that a GPU copies by itself."""
REDUCED = {
    "energy": task("return torch.logsumexp(self.up(x), dim=1)", "x = torch.randn(70, 40)", LINEAR, "40"),
    "several": task(
        "y = torch.relu(self.up(x))\nreturn y.amax(-1) - y.mean(-1), y.sum(-1, keepdim=True) * s",
        "x = torch.randn(3, 30, 40)\ns = torch.randn(3, 30, 1)",
        owner("self.up = nn.Linear(size, 150)"),
        "40",
    ),
    "loss": task(
        "return F.cross_entropy(self.up(x), labels, reduction='none', ignore_index=3) * 2",
        "x = torch.randn(70, 40)\nlabels = torch.randint(0, 90, (70,))",
        LINEAR,
        "40",
    ),
    "spread": task("return (a @ b).var(-1)", pair("70, 33", "33, 150")),
    "place": task("return (a @ b * 2).argmax(-1)", pair("70, 33", "33, 150")),
    "length": task("return (a @ b + 1).square().sum(-1).sqrt()", pair("70, 33", "33, 150", ".half()")),
}
"""Of these products, only what their rows come to is wanted."""
COMPUTED = {
    "int8_weight": task(
        "return F.linear(x, self.weight.to(x.dtype)) * self.scale",
        "x = torch.randn(5, 40, dtype=torch.bfloat16)",
        owner(
            'self.register_buffer("weight", torch.randint(-127, 128, (90, size), dtype=torch.int8))',
            'self.register_buffer("scale", (0.1 * torch.rand(90)).to(torch.bfloat16))',
        ),
        "40",
    ),
    "int8_rows": task(
        "return torch.relu(F.linear(x, self.weight.float() * self.scale[:, None]) + self.scale)",
        "x = torch.randn(5, 40)",
        owner(
            'self.register_buffer("weight", torch.randint(-127, 128, (90, size), dtype=torch.int8))',
            'self.register_buffer("scale", 0.1 * torch.rand(90))',
        ),
        "40",
    ),
    "int8_columns": task(
        "return x @ (self.weight.to(x.dtype) * self.scale)",
        "x = torch.randn(5, 40).half()",
        owner(
            'self.register_buffer("weight", torch.randint(-127, 128, (size, 90), dtype=torch.int8))',
            'self.register_buffer("scale", 0.1 * torch.rand(90).half())',
        ),
        "40",
    ),
    "int4_groups": task(
        "low, high = self.packed & 15, self.packed >> 4\n"
        "numbers = torch.stack((low, high), dim=-1).view(self.packed.shape[0], -1, 8)\n"
        "weight = (numbers.to(x.dtype) - 8) * self.scale[:, :, None]\n"
        "return F.linear(x, weight.view(self.packed.shape[0], -1))",
        "x = torch.randn(5, 48).half()",
        owner(
            'self.register_buffer("packed", torch.randint(0, 256, (90, size // 2), dtype=torch.uint8))',
            'self.register_buffer("scale", 0.1 * torch.rand(90, size // 8).half())',
        ),
        "48",
    ),
    "int4_large_groups": task(
        "numbers = torch.stack((self.packed & 15, self.packed >> 4), dim=-1).view(self.packed.shape[0], -1, 64)\n"
        "weight = ((numbers.to(x.dtype) - 8) * self.scale[:, :, None]).view(self.packed.shape[0], -1)\n"
        "return F.linear(x, weight) + 1",
        "x = torch.randn(5, 320).half()",
        owner(
            'self.register_buffer("packed", torch.randint(0, 256, (90, size // 2), dtype=torch.uint8))',
            'self.register_buffer("scale", 0.1 * torch.rand(90, size // 64).half())',
        ),
        "320",
    ),
    "int8_groups": task(
        "weight = self.weight.view(90, -1, 128).to(x.dtype) * self.scale[:, :, None]\n"
        "return F.linear(x, weight.view(90, -1))",
        "x = torch.randn(5, 256)",
        owner(
            'self.register_buffer("weight", torch.randint(-127, 128, (90, size), dtype=torch.int8))',
            'self.register_buffer("scale", 0.1 * torch.rand(90, size // 128))',
        ),
        "256",
    ),
    "both": task(
        "return F.linear(x * 2 + 1, self.weight.to(x.dtype) - 8) * 0.1",
        "x = torch.randn(5, 40)",
        owner('self.register_buffer("weight", torch.randint(-127, 128, (90, size), dtype=torch.int8))'),
        "40",
    ),
    "active_rows": task("return self.up(torch.relu(x) * 2) + 1", "x = torch.randn(5, 40)", LINEAR, "40"),
}


def plan_of(name: str, text: str) -> Plan:
    survey = survey_task(name, text)
    assert survey.graph is not None
    found = make_plan(survey, survey.graph, ALL_PRODUCTS)
    assert isinstance(found, Plan), found
    assert "products" in [region.recipe for region in found.regions]
    return found


@pytest.mark.parametrize("name", PRODUCTS)
def test_values_are_right(name: str) -> None:
    plan = plan_of(name, PRODUCTS[name])
    source = plan.write(plan.tunings[0])
    assert lint(read_kernel(source)).findings == ()
    assert find_tuning(plan, source) == plan.tunings[0]
    assert interpreting(find_problems, PRODUCTS[name], source) == []


@pytest.mark.parametrize(
    "name",
    [
        "rows",
        "long_sum",
        "few_rows_long_sum",
        "few_half_rows_long_sum",
        "half",
        "vector_long_sum",
        "vector_first_long_sum",
    ],
)
def test_every_tuning_is_right(name: str) -> None:
    plan = plan_of(name, PRODUCTS[name])
    near = [one for stage in ("grid", "block", "memory") for one in plan.variations(plan.tunings[0], stage)]
    for tuning in dict.fromkeys((*plan.tunings[1:], *near)):
        assert interpreting(find_problems, PRODUCTS[name], plan.write(tuning), ragged=False) == [], tuning


@pytest.mark.parametrize("name", DESCRIBED)
def test_descriptors_take_any_strides(name: str) -> None:
    survey = survey_task(name, DESCRIBED[name])
    assert survey.gpu is not None
    assert survey.graph is not None
    small = replace(survey, gpu=replace(survey.gpu, multiprocessors=4))
    plan = make_plan(small, survey.graph, ALL_PRODUCTS)
    assert isinstance(plan, Plan), plan
    staying = [one for one in plan.tunings if "PROGRAMS" in one]
    assert len(staying) == 4
    for tuning in staying[1:]:
        source = plan.write(tuning)
        assert lint(read_kernel(source)).findings == ()
        assert find_tuning(plan, source) == tuning
        assert interpreting(find_problems, DESCRIBED[name], source, launches=1) == []


@pytest.mark.parametrize("name", REDUCED)
def test_a_product_that_is_reduced_is_never_written(name: str) -> None:
    plan = plan_of(name, REDUCED[name])
    assert len(plan.forward.steps) == 1, plan.forward.steps
    launches = 2 if name == "length" else 4
    for tuning in plan.tunings[:2]:
        source = plan.write(tuning)
        assert lint(read_kernel(source)).findings == ()
        assert find_tuning(plan, source) == tuning
        assert interpreting(find_problems, REDUCED[name], source, launches=launches) == []


def test_a_product_that_is_wanted_as_well_is_reduced_afterwards() -> None:
    text = task("y = self.up(x)\nreturn y, y.logsumexp(-1)", "x = torch.randn(70, 40)", LINEAR, "40")
    plan = plan_of("both", text)
    assert len(plan.forward.steps) == 2
    assert "_parts_kernel" not in plan.write(plan.tunings[-1])


GATED = owner("self.up = nn.Linear(size, 400)", "self.gate = nn.Linear(size, 400)")


@pytest.mark.parametrize(
    ("forward", "splits"),
    [
        ("return F.silu(self.up(x)) * self.gate(x)", 1),
        ("y = self.up(x)\nx.add_(1)\nreturn F.silu(y) * self.gate(x)", 2),
        ("return F.silu(self.up(x)) * self.gate(x * x.sum(-1, keepdim=True))", 2),
    ],
)
@pytest.mark.parametrize("sizes", ["3, 30, 40", "70, 1100"])
def test_one_split_for_all_products_of_an_input(forward: str, splits: int, sizes: str) -> None:
    size = sizes.rpartition(" ")[2]
    text = task(forward, f"x = torch.randn({sizes})", GATED, size)
    plan = plan_of("gated", text)
    source = plan.write(plan.tunings[0])
    kernels = [region for region in plan.regions if region.recipe == "products"]
    assert len(kernels) == 2
    made = [line for line in source.splitlines() if "= split_rows(" in line and "**how" not in line]
    assert len(made) == splits
    assert ("split into halves once" in plan.analysis().plan) is (splits == 1)
    assert interpreting(find_problems, text, source) == []


def unusual(task_text: str, kernel: str) -> list[str]:
    """What differs where numbers are infinite, no numbers, or far from one."""
    import torch

    twins = Twins(task_text, kernel)
    torch.manual_seed(0)
    a, b = torch.randn(65, 1100), torch.randn(1100, 400)
    b[5] = 0
    a[3, 4], a[4, 5], a[5, 6] = float("inf"), float("inf"), float("nan")
    a[6, 7:9], a[7, 10] = float("-inf"), float("inf")
    b[10, 2], b[11, 3] = float("inf"), float("nan")
    a[9], a[10], a[11] = 0, a[10] * 1e30, a[11] * 1e-30
    b[:, 7], b[:, 8] = b[:, 7] * 1e-30, b[:, 8] * 1e7
    (got,), (expected,) = twins.outputs(a, b), twins.expected(a, b)
    problems = [
        f"other {kind}"
        for kind in ("isnan", "isinf")
        if not torch.equal(*(getattr(one, kind)() for one in (got, expected)))
    ]
    near = (got - expected).abs() <= 1e-5 * (a.abs() @ b.abs() + 1)
    return problems + ([] if near[expected.isfinite()].all() else ["other values"])


def test_one_row_needs_no_tensor_core() -> None:
    for name in ("matrix_vector", "vector_first"):
        plan = plan_of(name, PRODUCTS[name])
        assert not any("tl.dot" in plan.write(tuning) for tuning in plan.tunings)


@pytest.mark.parametrize(("rows", "precision"), [(5, "tf32x3"), (16, "tf32x3"), (17, "bf16x6")])
def test_numbers_are_taken_apart_by_their_rows(rows: int, precision: str) -> None:
    plan = plan_of("rows", task("return self.up(x)", f"x = torch.randn({rows}, 40)", LINEAR, "40"))
    assert f'input_precision="{precision}"' in plan.write(plan.tunings[0])


def test_inf_and_nan_stay_where_they_are() -> None:
    plan = plan_of("cut_halves", PRODUCTS["cut_halves"])
    assert "SPLITS" in plan.tunings[0]
    assert "SPLITS" not in plan.tunings[-1]
    for tuning in (plan.tunings[0], plan.tunings[-1]):
        source = plan.write(tuning)
        assert "split_rows(" in source
        assert interpreting(unusual, PRODUCTS["cut_halves"], source) == []


def test_a_small_result_of_a_long_sum_needs_no_halves() -> None:
    plan = plan_of("long_sum", PRODUCTS["long_sum"])
    assert "SPLITS" in plan.tunings[0]
    assert not any("split_rows(" in plan.write(tuning) for tuning in plan.tunings)


LARGE = {
    "square": task("return torch.relu(a @ b)", pair("4096, 4096", "4096, 4096")),
    "few_rows": task(
        "return F.gelu(self.up(x))", "x = torch.randn(8, 8192)", owner("self.up = nn.Linear(size, 8192)"), "8192"
    ),
    "long_sum": task("return a @ b", pair("256, 131072", "131072, 256")),
    "longer_sum": task("return a @ b", pair("192, 400000", "400000, 160")),
    "heads": task("return a @ b.transpose(-1, -2) * 0.125", pair("8, 16, 1024, 64", "8, 16, 1024, 64")),
    "int8": task(
        "return F.linear(x, self.weight.to(x.dtype)) * self.scale",
        "x = torch.randn(16, 8192, dtype=torch.bfloat16)",
        owner(
            'self.register_buffer("weight", torch.ones((8192, size), dtype=torch.int8))',
            'self.register_buffer("scale", torch.ones(8192, dtype=torch.bfloat16))',
        ),
        "8192",
    ),
    "triangle": task("return torch.triu(a) @ b", pair("4096, 4096", "4096, 4096")),
    "matrix_vector": task("return torch.mv(a, b)", pair("16384, 12288", "12288")),
    "vector_matrix": task("return torch.relu(x @ b)", "x = torch.randn(8192)\nb = torch.randn(8192, 8192)"),
    "int4": (Path(__file__).parents[3] / "benchmarks/playbook_tasks/chains/int4_linear.py").read_text(),
    "energy": (Path(__file__).parents[3] / "benchmarks/playbook_tasks/chains/linear_logsumexp.py").read_text(),
    "half_linear": task(
        "return F.gelu(self.up(x))",
        "x = torch.randn(64, 197, 768, dtype=torch.bfloat16)",
        owner("self.up = nn.Linear(size, 3072, dtype=torch.bfloat16)"),
        "768",
    ),
    "half": task(
        "return F.gelu(a @ b) + c",
        pair("4096, 4096", "4096, 4096", ".half()") + "\nc = torch.randn(4096, 4096).half()",
    ),
}


def plan_for(target: str, name: str) -> Plan:
    survey, gpu = survey_task(name, LARGE[name]), REPRESENTATIVES[target]
    assert survey.gpu is not None
    assert survey.graph is not None
    given = replace(survey.gpu, target=target, shared_bytes_per_block=gpu.shared_bytes_per_block)
    plan = make_plan(replace(survey, gpu=given), survey.graph, REGION_RECIPES)
    assert isinstance(plan, Plan), plan
    return plan


def test_only_gpus_that_copy_tiles_get_descriptors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    assert not any("PROGRAMS" in one for one in plan_for("sm_80", "half_linear").tunings)
    plan = plan_for("sm_90", "half_linear")
    staying = [one for one in plan.tunings if "PROGRAMS" in one]
    assert "PROGRAMS" not in plan.tunings[0]
    for tuning in staying[:2]:
        (kernel,) = compile_exact(LARGE["half_linear"], plan.write(tuning), "sm_90", str(tmp_path))
        assert kernel.spills == 0


def test_short_sums_have_small_tiles_of_one_stage() -> None:
    short, long = plan_for("sm_90", "heads").tunings[0], plan_for("sm_90", "square").tunings[0]
    assert (short["BLOCK_M"], short["BLOCK_N"], short["NUM_STAGES"]) == (64, 64, 1)
    assert long["NUM_STAGES"] > 1


@pytest.mark.parametrize(
    ("name", "target"),
    on_targets(LARGE, {"square": "sm_80", "half": "sm_90", "int8": "sm_80", "few_rows": "sm_90"}),
)
def test_large_products_fit_a_gpu(name: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    gpu, plan = REPRESENTATIVES[target], plan_for(target, name)
    kernels = compile_exact(LARGE[name], plan.write(plan.tunings[0]), target, str(tmp_path))
    assert {one.kernel: one.spills for one in kernels if one.spills} == {}
    assert all(one.shared_bytes <= gpu.shared_bytes_per_block for one in kernels)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("upper_triangle", "first = tl.maximum(first, tl.min(rows, axis=0).to(tl.int32) + 3)"),
        ("lower_triangles", "last = tl.maximum(tl.minimum(last, tl.max(rows, axis=0).to(tl.int32) + 1), 0)"),
        ("turned_triangle", "first = tl.maximum(first, tl.min(cols, axis=0).to(tl.int32) + 0)"),
        ("triangle_of_a_product", "last = tl.where(tl.min(cols, axis=0) - tl.max(rows, axis=0) > 1, 0, last)"),
    ],
)
def test_zeros_are_skipped(name: str, line: str) -> None:
    plan = plan_of(name, PRODUCTS[name])
    assert len(plan.forward.steps) == 1
    assert line in plan.write(plan.tunings[0])


def test_packed_weights_are_copied_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    plan = plan_for("sm_90", "int4")
    tuning = plan.tunings[0]
    (kernel,) = compile_exact(LARGE["int4"], plan.write(tuning), "sm_90", str(tmp_path))
    tile = 2 * tuning["BLOCK_M"] * tuning["BLOCK_K"] + tuning["BLOCK_N"] * tuning["BLOCK_K"] // 2
    assert kernel.shared_bytes == (tuning["NUM_STAGES"] - 1) * tile


@pytest.mark.parametrize("name", COMPUTED)
def test_factors_are_computed_on_the_way(name: str) -> None:
    plan = plan_of(name, COMPUTED[name])
    assert len(plan.forward.steps) == 1, plan.forward.steps
    source = plan.write(plan.tunings[0])
    assert lint(read_kernel(source)).findings == ()
    assert ("start // " in source) is ("groups" in name)
    for tuning in plan.tunings[:2]:
        assert interpreting(find_problems, COMPUTED[name], plan.write(tuning), launches=1) == []


def test_a_scale_is_loaded_once_for_a_group_of_any_size() -> None:
    constructor = owner(
        "self.group = group",
        'self.register_buffer("packed", torch.randint(0, 256, (90, size // 2), dtype=torch.uint8))',
        'self.register_buffer("scale", 0.1 * torch.rand(90, size // group).half())',
        arguments="size, group",
    )
    at = [
        task(
            "numbers = torch.stack((self.packed & 15, self.packed >> 4), dim=-1)\n"
            "weight = numbers.view(self.packed.shape[0], -1, self.group).to(x.dtype) - 8\n"
            "return F.linear(x, (weight * self.scale[:, :, None]).view(self.packed.shape[0], -1))",
            f"x = torch.randn(5, {size}).half()",
            constructor,
            f"{size}, {group}",
        )
        for size, group in ((384, 128), (256, 64), (200, 40))
    ]
    survey = survey_task("groups", at[0], others=tuple(at[1:]))
    assert survey.graph is not None
    plan = make_plan(survey, remember_varying(survey.graph), ALL_PRODUCTS)
    assert isinstance(plan, Plan), plan
    source = plan.write(plan.tunings[0])
    assert "first = start if " in source
    for text in at:
        assert interpreting(find_problems, text, source, ragged=False) == []
