"""Attention, from the graph to kernels: its values on ragged shapes, and what it needs on a GPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playbook_children import compile_exact, find_problems, interpreting
from playbook_judging import assert_clean, judge_written, on_targets, some_of
from playbook_surveys import survey_task
from playbook_tasks import owner, task

from tilesmith.judge import Judge
from tilesmith.lint import lint, read_kernel
from tilesmith.playbook.plan.making import make_plan
from tilesmith.playbook.plan.plan import Plan
from tilesmith.playbook.recipes import REGION_RECIPES
from tilesmith.playbook.recipes.attention import AttentionRecipe
from tilesmith.playbook.tuning import find_tuning
from tilesmith.tasks.gpus import REPRESENTATIVES
from tilesmith.tasks.numbers.varying import remember_varying

ALL_ATTENTION = (
    *(one for one in REGION_RECIPES if one.name != "attention"),
    AttentionRecipe(keeps_pytorch=False),
)
WRITTEN_OUT = "return torch.softmax(q @ k.transpose(-2, -1) * 0.2, dim=-1) @ v"
OWN = "return F.scaled_dot_product_attention(q, k, v)"


def inputs(q: str, k: str, v: str = "", after: str = "", more: str = "") -> str:
    return "\n".join(
        [*(f"{name} = torch.randn({shape}){after}" for name, shape in (("q", q), ("k", k), ("v", v or k))), more]
    ).strip()


SHORT = inputs("2, 3, 37, 24", "2, 3, 45, 24", "2, 3, 45, 20")
LONG = inputs("2, 1, 150, 24", "2, 1, 133, 24", "2, 1, 133, 20")
SELF = inputs("2, 2, 150, 32", "2, 2, 150, 32")
ATTENTION = {
    "written_out": task(WRITTEN_OUT, SHORT),
    "written_out_long": task(WRITTEN_OUT, LONG),
    "own": task(OWN, SHORT),
    "own_long": task(OWN, LONG),
    "causal": task(OWN.replace("v)", "v, is_causal=True)"), SELF),
    "scale": task(OWN.replace("v)", "v, scale=0.3)"), inputs("2, 40, 16", "2, 40, 16")),
    "boolean_mask": task(
        OWN.replace("v)", "v, attn_mask=mask)"),
        inputs("2, 3, 37, 24", "2, 3, 45, 24", more="mask = torch.rand(2, 1, 37, 45) > 0.3"),
    ),
    "masked_rows": task(
        OWN.replace("v)", "v, attn_mask=mask)"),
        inputs("2, 3, 37, 24", "2, 3, 45, 24", more="mask = (torch.rand(37, 1) > 0.3) & (torch.rand(1, 45) > 0.2)"),
    ),
    "bias": task(
        OWN.replace("v)", "v, attn_mask=bias)"),
        inputs("2, 2, 150, 32", "2, 2, 150, 32", more="bias = torch.randn(2, 150, 150)"),
    ),
    "written_mask": task(
        "scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(mask[: q.shape[-2], : k.shape[-2]] == 0, "
        "float('-inf'))\nreturn F.dropout(torch.softmax(scores, -1), 0.1, False) @ v",
        inputs("2, 3, 37, 24", "2, 3, 37, 24", more="mask = torch.tril(torch.ones(60, 60))"),
    ),
    "empty_rows": task(
        "return torch.softmax((q @ k.mT).masked_fill(mask, float('-inf')), -1) @ v",
        inputs("2, 3, 37, 24", "2, 3, 37, 24", more="mask = torch.rand(2, 1, 37, 1) > 0.7"),
    ),
    "softmax_by_hand": task(
        "s = q @ k.mT * 0.2\ne = torch.exp(s - s.max(dim=-1, keepdim=True).values)\n"
        "return (e / e.sum(dim=-1, keepdim=True)) @ v",
        SHORT,
    ),
    "divided_afterwards": task(
        "s = q @ k.mT * 0.2\ne = (s - s.amax(-1, keepdim=True)).exp()\nreturn (e @ v) / e.sum(-1, keepdim=True)",
        SHORT,
    ),
    "grouped": task(
        "k, v = k.repeat_interleave(3, dim=1), v.repeat_interleave(3, dim=1)\n" + OWN,
        inputs("2, 6, 37, 24", "2, 2, 45, 24"),
    ),
    "grouped_long": task(
        "k, v = k.repeat_interleave(2, dim=1), v.repeat_interleave(2, dim=1)\n" + WRITTEN_OUT,
        inputs("1, 4, 133, 16", "1, 2, 140, 16"),
    ),
    "gqa": task(OWN.replace("v)", "v, enable_gqa=True)"), inputs("2, 6, 37, 24", "2, 2, 45, 24")),
    "relu": task(
        "return F.relu((q @ k.mT * 0.3).masked_fill(~mask, 0.0)) @ v / q.shape[-2]",
        inputs("2, 2, 150, 32", "2, 2, 150, 32", more="mask = torch.ones(150, 150, dtype=torch.bool).tril()"),
    ),
    "heads": task(
        """
        b, s, w = x.shape
        q, k, v = (one.view(b, s, self.heads, -1).transpose(1, 2) for one in x.split(w // 3, dim=2))
        mixed = torch.softmax(q @ k.transpose(-2, -1) * 0.25, dim=-1) @ v
        return mixed.transpose(1, 2).reshape(b, s, w // 3)
        """,
        "x = torch.randn(2, 40, 192)",
        owner("self.heads = size"),
        "4",
    ),
    "einsum": task(
        "w = torch.softmax(torch.einsum('bhid,bhjd->bhij', q, k) + bias.permute(0, 3, 1, 2), -1)\n"
        "return torch.einsum('bhij,bhjd->bihd', w, v)",
        inputs("2, 3, 37, 24", "2, 3, 45, 24", more="bias = torch.randn(2, 37, 45, 3)"),
    ),
    "positions": task(
        "far = torch.arange(q.shape[2])[:, None] - torch.arange(q.shape[2])[None, :]\n"
        "seen = (far >= 0) & (far < self.size)\n"
        "return torch.softmax(torch.where(seen, q @ k.mT * 0.3 - 0.1 * far, torch.finfo(q.dtype).min), -1) @ v",
        SELF,
        owner("self.size = size"),
        "40",
    ),
    "one_query": task(
        "w = F.softmax((q @ k.mT * 0.2).float(), dim=-1).to(v.dtype)\nreturn w @ v",
        inputs("2, 3, 1, 24", "2, 3, 77, 24", after=".half()"),
    ),
    "half": task(WRITTEN_OUT, inputs("2, 3, 37, 24", "2, 3, 45, 24", "2, 3, 45, 20", ".half()")),
    "bfloat": task(
        OWN.replace("v)", "v, is_causal=True)"), inputs("2, 3, 60, 24", "2, 3, 60, 24", after=".bfloat16()")
    ),
}

OF_ONE_SIZE = {"written_mask", "positions"}
"""A single trace does not say where their numbers come from."""


def plan_of(name: str, text: str, others: tuple[str, ...] = ()) -> Plan:
    survey = survey_task(name, text, "default", others)
    assert survey.graph is not None
    found = make_plan(survey, remember_varying(survey.graph), ALL_ATTENTION)
    assert isinstance(found, Plan), found
    assert [region.recipe for region in found.regions] == ["attention"]
    return found


@pytest.mark.parametrize("name", ATTENTION)
def test_values_are_right(name: str) -> None:
    plan = plan_of(name, ATTENTION[name])
    source = plan.write(plan.tunings[0])
    assert lint(read_kernel(source)).findings == ()
    assert find_tuning(plan, source) == plan.tunings[0]
    assert interpreting(find_problems, ATTENTION[name], source, ragged=name not in OF_ONE_SIZE) == []


@pytest.mark.parametrize("name", some_of([one for one in ATTENTION if one not in OF_ONE_SIZE], ["causal"]))
def test_the_judge_passes_it(name: str, judge: Judge, tmp_path: Path) -> None:
    plan = plan_of(name, ATTENTION[name])
    source = plan.write(plan.tunings[0])
    launches = 4 if "split_rows(q_heads)" in source else 1
    assert_clean(judge_written(judge, tmp_path, ATTENTION[name], plan, plan.tunings[0]), launches)


@pytest.mark.parametrize("name", some_of(["causal", "grouped", "relu"], ["grouped"]))
def test_every_tuning_is_right(name: str) -> None:
    plan = plan_of(name, ATTENTION[name])
    near = [one for stage in ("grid", "block", "memory") for one in plan.variations(plan.tunings[0], stage)]
    for tuning in dict.fromkeys((*plan.tunings[1:], *near)):
        assert interpreting(find_problems, ATTENTION[name], plan.write(tuning), ragged=False) == [], tuning


UNSEEN = {
    "causal": ("0", "last"),
    "positions": ("first", "last"),
    "boolean_mask": ("0", "KEYS"),
    "softmax_of_triangle": ("0", "last"),
    "weights_of_triangle": ("0", "last"),
    "rows_without_keys": ("0", "KEYS"),
    "merely_low": ("0", "KEYS"),
}


@pytest.mark.parametrize("name", UNSEEN)
def test_keys_that_nobody_sees_are_skipped(name: str) -> None:
    triangle = "mask = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool).triu(1)\n"
    filled = "(q @ k.mT).masked_fill(mask, {})"
    others = {
        "softmax_of_triangle": f"{triangle}return torch.softmax({filled.format('-1e30')}, -1) @ v",
        "weights_of_triangle": f"{triangle}return torch.exp({filled.format('-math.inf')}) @ v",
        "rows_without_keys": f"{triangle[:-3]}0)\nreturn torch.softmax({filled.format('-1e30')}, -1) @ v",
        "merely_low": f"{triangle}return torch.softmax({filled.format('-5.0')}, -1) @ v",
    }
    text = task(others[name], SELF) if name in others else ATTENTION[name]
    plan = plan_of(name, text)
    assert "for start in range({}, {}, BLOCK_N):".format(*UNSEEN[name]) in plan.write(plan.tunings[0])


BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "playbook_tasks" / "attention"
PLANNED = {
    "causal_self_attention": ["products", "attention", "products"],
    "cosine_scores": ["rows", "attention"],
    "decoding_step": ["attention"],
    "grouped_heads_bfloat16": ["attention"],
    "image_windows": ["products", "attention", "products"],
    "padding_mask": ["attention"],
    "pair_bias": ["products", "attention"],
    "relative_positions": ["attention"],
    "relu_attention": ["products", "attention"],
    "retention": ["attention", "rows"],
    "sliding_window": ["attention"],
    "slope_bias": ["attention"],
    "softmax_attention": ["attention"],
    "state_space_chunk": ["rows", "attention"],
}


@pytest.mark.parametrize("name", PLANNED)
def test_tasks_of_the_benchmark_are_planned(name: str) -> None:
    survey = survey_task(name, (BENCHMARK / f"{name}.py").read_text())
    assert survey.graph is not None
    plan = make_plan(survey, remember_varying(survey.graph), REGION_RECIPES)
    assert isinstance(plan, Plan), plan
    found = [region.recipe for region in plan.regions]
    assert [one for one in dict.fromkeys(found) if one in PLANNED[name]] == list(dict.fromkeys(PLANNED[name]))
    assert found.count("attention") == 1


@pytest.mark.parametrize("more", ["", ", is_causal=True"])
def test_the_library_keeps_its_own_attention_of_halves(more: str) -> None:
    shape = "4, 16, 1024, 64"
    survey = survey_task("kept", task(OWN.replace("v)", f"v{more})"), inputs(shape, shape, after=".half()")))
    assert survey.graph is not None
    found = make_plan(survey, survey.graph, REGION_RECIPES)
    assert not isinstance(found, Plan)
    assert "by PyTorch's own function, which is as fast" in found.reason


def large(heads: int, steps: int, width: int, mask: str = "", after: str = "") -> str:
    shape = f"4, {heads}, {steps}, {width}"
    return task(OWN.replace("v)", f"v{mask})") + " * 2", inputs(shape, shape, after=after))


LARGE = {
    "narrow": large(16, 512, 32),
    "float": large(16, 1024, 64),
    "causal": large(16, 1024, 64, ", is_causal=True"),
    "wide": large(16, 1024, 128),
    "widest": large(8, 1024, 256),
    "windows": task(
        "return torch.softmax(q @ k.mT * 0.2 + bias, dim=-1) @ v",
        inputs("512, 3, 49, 32", "512, 3, 49, 32", more="bias = torch.randn(3, 49, 49)"),
    ),
    "half": large(16, 1024, 64, after=".half()"),
    "wide_half": large(16, 1024, 128, after=".bfloat16()"),
    "relu": task(
        "return torch.relu(q @ k.mT * 0.2) @ v", inputs("16, 16, 512, 64", "16, 16, 512, 64", "16, 16, 512, 64")
    ),
    "long_windows": task(WRITTEN_OUT, inputs("64, 8, 100, 64", "64, 8, 120, 64")),
    "wide_windows": task(WRITTEN_OUT, inputs("64, 8, 100, 128", "64, 8, 120, 128")),
    "widest_windows": task(WRITTEN_OUT, inputs("64, 8, 100, 256", "64, 8, 120, 256")),
    "widest_half": large(8, 1024, 256, after=".half()"),
    "decoding_floats": task(WRITTEN_OUT, inputs("16, 32, 1, 128", "16, 32, 4096, 128")),
    "decoding": task(WRITTEN_OUT, inputs("16, 32, 1, 128", "16, 32, 4096, 128", after=".half()")),
}


@pytest.mark.parametrize(
    ("name", "target"),
    on_targets(LARGE, {"causal": "sm_90", "widest": "sm_80", "wide_half": "sm_80", "decoding": "sm_90"}),
)
def test_large_attention_fits_a_gpu(
    name: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    gpu, survey = REPRESENTATIVES[target], survey_task(name, LARGE[name])
    assert survey.gpu is not None
    assert survey.graph is not None
    given = replace(survey.gpu, target=target, shared_bytes_per_block=gpu.shared_bytes_per_block)
    plan = make_plan(replace(survey, gpu=given), survey.graph, REGION_RECIPES)
    assert isinstance(plan, Plan), plan
    assert [region.recipe for region in plan.regions] == ["attention"]
    kernels = compile_exact(LARGE[name], plan.write(plan.tunings[0]), target, str(tmp_path))
    assert {one.kernel: one.spills for one in kernels if one.spills} == {}
    assert all(one.shared_bytes <= gpu.shared_bytes_per_block for one in kernels)
