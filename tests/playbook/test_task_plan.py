"""A plan says what to do first, then what the task consists of."""

from __future__ import annotations

from playbook_surveys import survey_task
from playbook_tasks import ROWS, owner, task
from recurrent_tasks import recurrent

from tilesmith.playbook.task_plan import plan_lines, plan_task

LINEARS = owner("self.qkv = nn.Linear(size, 3 * size)", "self.out = nn.Linear(size, size)")
ATTENTION = task(
    "q, k, v = self.qkv(x).chunk(3, dim=-1)\nreturn self.out(F.scaled_dot_product_attention(q, k, v)) + x",
    "x = torch.randn(4, 16, 32)",
    LINEARS,
    "32",
)


def test_a_plan_without_a_recipe_has_the_facts() -> None:
    plan = plan_task(survey_task("attention", ATTENTION))
    assert not plan.recipe_fits
    assert plan.told.startswith("50% of PyTorch's 0.008 ms is 2 calls of linear (by roofline on H200")
    assert "no recipe for attention of half types or with few FLOPs" in plan.told
    assert "tilesmith forge --model MODEL, or --base-url URL" in plan.told
    works = {one.operator: one for one in plan.operators}
    assert (works["linear"].calls, works["linear"].in_recipes) == (2, False)
    assert works["linear"].flops == 2 * 64 * 32 * (96 + 32)
    assert works["attention"].flops == 2 * 64 * 16 * (32 + 32)
    assert works["add"].bytes_moved == 3 * 64 * 32 * 4
    assert works["add"].in_recipes
    assert works["linear"].pytorch_ms == 2 * works["add"].pytorch_ms
    assert plan.fusable == ()
    assert plan.roofline is not None
    first, *facts = plan_lines(plan)
    assert first == plan.told
    assert any(line.startswith("linear") for line in facts)
    assert facts[-1].startswith("roofline: at least")


def test_what_a_region_says_of_operators_that_recipes_know() -> None:
    """Products have recipes, of other sizes than these; what could be fused is a region already."""
    body = "return torch.sort(self.out(F.silu(x) * x) + 1)[0].sin() * 2"
    plan = plan_task(
        survey_task("small", task(body, "x = torch.randn(4, 32)", owner("self.out = nn.Linear(size, size)"), "32"))
    )
    assert [one.why for one in plan.regions if one.kernel is None] == [
        "no recipe for sort; no recipe fits this linear"
    ]
    assert not any(line.startswith("could be fused") for line in plan_lines(plan))


def test_a_plan_with_a_recipe_has_its_strategy_and_analysis() -> None:
    plan = plan_task(survey_task("softmax", ROWS["softmax"]))
    assert plan.recipe_fits
    assert plan.variants > 1
    assert plan.analysis is not None
    assert "program" in plan.told


def test_a_recurrent_layer_is_known_and_counted() -> None:
    (work,) = plan_task(survey_task("gru", recurrent("return self.rnn(x)[0]"))).operators[:1]
    assert (work.operator, work.in_recipes) == ("gru", True)
    assert work.flops == 2 * 3 * 2 * 3 * 7 * (5 + 7), "2 x time x batch x the weights of three gates"


def test_a_task_that_cannot_be_traced_has_a_plan_too() -> None:
    plan = plan_task(survey_task("branch", task("return x * 2 if x.sum() > 0 else x - 1", "x = torch.randn(3, 5)")))
    assert plan.told.startswith("the whole task takes")
    assert "no recipe for a task that cannot be traced; tilesmith forge --model" in plan.told
    assert plan.operators == ()
