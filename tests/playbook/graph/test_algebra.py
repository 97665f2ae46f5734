"""Algebra that removes work: what is rewritten, that its values are right, and what is left alone."""

from __future__ import annotations

import pytest
from playbook_children import find_problems, interpreting
from playbook_surveys import survey_task
from playbook_tasks import owner, task

from tilesmith.playbook.graph.algebra import simplify
from tilesmith.playbook.plan.making import make_plan
from tilesmith.playbook.plan.plan import Plan
from tilesmith.playbook.recipes import REGION_RECIPES
from tilesmith.playbook.recipes.products import ProductsRecipe

ALL_PRODUCTS = (*(one for one in REGION_RECIPES if one.name != "products"), ProductsRecipe(keeps_pytorch=False))
LINEAR = owner("self.up = nn.Linear(size, 96)")
X = "x = torch.randn(70, 40)"
MATRIX = "v = torch.randn(30)\nx = torch.randn(30, 41)"

REWRITTEN = {
    "scaled_rows": (task("return torch.diag(v) @ x", MATRIX), "diagonal matrix"),
    "scaled_columns": (task("return torch.relu(x.t() @ torch.diag(v)) + 1", MATRIX), "diagonal matrix"),
    "scaled_vector": (task("return torch.diag(v) @ (v * 2)", "v = torch.randn(300)"), "diagonal matrix"),
    "outer_product": (
        task("return torch.outer(a, b) + 1", "a = torch.randn(70)\nb = torch.randn(90)"),
        "every pair",
    ),
    "rank_one": (
        task("return torch.relu(a @ b)", "a = torch.randn(70, 1)\nb = torch.randn(3, 1, 90)"),
        "every pair",
    ),
    "sum_of_outputs": (
        task("return self.up(x).sum(dim=1, keepdim=True) * 2", X, LINEAR, "40"),
        "96 outputs of linear",
    ),
    "mean_of_outputs": (task("return torch.relu(self.up(x).mean(-1))", X, LINEAR, "40"), "96 outputs of linear"),
    "sums_of_groups": (
        task("return self.up(x).view(-1, 4, 24).sum(-1) + 1", X, LINEAR, "40"),
        "24 outputs of linear",
    ),
    "sum_of_a_product": (
        task("return (x @ self.w).sum(-1) * 3", X, owner("self.w = nn.Parameter(torch.randn(size, 50))"), "40"),
        "50 outputs of matmul",
    ),
    "sum_of_scaled_outputs": (
        task(
            "return (x @ self.w.T / 2).sum(1) * 3", X, owner("self.w = nn.Parameter(torch.randn(50, size))"), "40"
        ),
        "50 outputs of matmul",
    ),
    "mean_of_moved_outputs": (
        task(
            "y = F.dropout(self.up(x), 0.0, True) - self.v\nreturn torch.relu(y.mean(-1, keepdim=True)) + x",
            X,
            owner("self.up = nn.Linear(size, 96)", "self.v = nn.Parameter(torch.randn(96))"),
            "40",
        ),
        "96 outputs of linear",
    ),
    "pooled_outputs": (
        task("return torch.relu(F.avg_pool1d(self.up(x).unsqueeze(1), 24).squeeze(1)) * 2", X, LINEAR, "40"),
        "24 outputs of linear",
    ),
    "one_of_one": (
        task("y = x.amax(1, keepdim=True)\nreturn x * y.mean(1, keepdim=True) + torch.softmax(y, 1)", X),
        "size one",
    ),
    "log_of_a_softmax": (
        task("p = torch.softmax(x * 40, 1)\nreturn (p * p.log()).sum(1), p.log().amax(1)", X),
        "log softmax",
    ),
    "value_of_one": (
        task("y = x * 2\nreturn torch.relu(y.max(dim=1).values) + 1", "x = torch.randn(300, 1)"),
        "size one",
    ),
}
LEFT_ALONE = {
    "scaled_by_a_vector": task("return (self.up(x) * self.up.bias).sum(-1) * 2", X, LINEAR, "40"),
    "used_twice": task("y = self.up(x)\nreturn y.sum(-1), torch.relu(y)", X, LINEAR, "40"),
    "other_dimension": task("return self.up(x).sum(0) * 2", X, LINEAR, "40"),
    "computed_weight": task("return F.linear(x, torch.relu(self.up.weight)).sum(-1) * 2", X, LINEAR, "40"),
    "shifted_diagonal": task("return torch.diag(v, 1) @ x", "v = torch.randn(29)\nx = torch.randn(30, 41)"),
    "average_of_a_vector": task(
        "p = torch.exp(x - x.amax(-1, keepdim=True))\nreturn (p @ v) / p.sum(-1, keepdim=True)",
        "x = torch.randn(30, 40)\nv = torch.randn(40)",
    ),
    "diagonal_of_a_matrix": task("return x @ torch.diag(x)", "x = torch.randn(30, 30)"),
}


@pytest.mark.parametrize("name", REWRITTEN)
def test_less_work_gives_the_same(name: str) -> None:
    text, note = REWRITTEN[name]
    survey = survey_task(name, text)
    assert survey.graph is not None
    plan = make_plan(survey, survey.graph, ALL_PRODUCTS)
    assert isinstance(plan, Plan), plan
    source = plan.write(plan.tunings[0])
    assert note in plan.strategy(plan.tunings[0])
    assert note in " ".join(source.split())
    assert interpreting(find_problems, text, source) == []


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_what_differs_is_left_alone(name: str) -> None:
    graph = survey_task(name, LEFT_ALONE[name]).graph
    assert graph is not None
    assert simplify(graph).graph == graph
