"""Losses and the like, written out: the regions that they become, and what those compute."""

from __future__ import annotations

import pytest
from playbook_children import find_problems, interpreting
from playbook_surveys import survey_task
from playbook_tasks import IMAGE, owner, task

from tilesmith.playbook import find_match
from tilesmith.playbook.plan.decompositions import decompose
from tilesmith.playbook.plan.plan import Plan

PAIR = "p = torch.randn(30, 140)\nt = torch.randn(30, 140)"
SIGNS = "\ns = torch.sign(torch.randn(30))"
NORM = owner("self.norm = nn.InstanceNorm2d(size, affine=True)")
OF_ALL = {
    "mse": "F.mse_loss(p, t)",
    "l1": "F.l1_loss(p, t, reduction='sum')",
    "smooth_l1": "F.smooth_l1_loss(p, t, beta=0.7)",
    "smooth_l1_at_zero": "F.smooth_l1_loss(p, t, beta=0.0)",
    "huber": "F.huber_loss(p, t, delta=0.6)",
    "divergence": "F.kl_div(p, torch.relu(t))",
    "cross_entropy_of_two": "F.binary_cross_entropy(p.sigmoid(), t.sigmoid())",
    "logits": "F.binary_cross_entropy_with_logits(p, t)",
    "weighted_logits": "F.binary_cross_entropy_with_logits(p, t, weight=t.abs(), pos_weight=p.abs())",
    "hinge_by_hand": "torch.clamp(1 - p * t, min=0).mean()",
    "soft_margin": "F.soft_margin_loss(p, torch.sign(t))",
    "hinge_embedding": "F.hinge_embedding_loss(p, torch.sign(t), margin=0.8)",
    "ranking": "F.margin_ranking_loss(p, t, torch.sign(p), margin=0.2)",
    "poisson": "F.poisson_nll_loss(p, t)",
    "poisson_of_rates": "F.poisson_nll_loss(p.abs(), t, log_input=False)",
}
BY_ROW = {
    "cosine": ("F.cosine_similarity(p, t, dim=1)", PAIR, ["rows"]),
    "distance": ("F.pairwise_distance(p, t)", PAIR, ["rows"]),
    "triplet": (
        "F.triplet_margin_loss(p, t, p * 2 - t, margin=0.7, swap=True)",
        PAIR,
        ["rows", "aten.mean.default"],
    ),
    "cosine_embedding": ("F.cosine_embedding_loss(p, t, s)", PAIR + SIGNS, ["rows", "aten.mean.default"]),
    "divergence_of_softmax": (
        "F.kl_div(F.log_softmax(p, -1), F.softmax(t, -1), reduction='batchmean')",
        PAIR,
        ["rows", "rows"],
    ),
    "divergence_of_logarithms": ("F.kl_div(p, t, log_target=True, reduction='none')", PAIR, ["elementwise"]),
    "instance_norm": ("F.relu(self.norm(x))", IMAGE, ["rows"]),
    "pool_of_everything": ("F.adaptive_avg_pool2d(torch.relu(x), 1).flatten(1)", IMAGE, ["rows"]),
}
EVERY = {name: (formula, PAIR, ["rows"]) for name, formula in OF_ALL.items()} | BY_ROW


@pytest.mark.parametrize("name", EVERY)
def test_what_is_written_out_computes_the_same(name: str) -> None:
    formula, inputs, steps = EVERY[name]
    text = task(f"return {formula}", inputs, *((NORM, "6") if "self.norm" in formula else ()))
    plan = find_match(survey_task(name, text))
    assert isinstance(plan, Plan), plan
    assert [getattr(step, "recipe", None) or step.op for step in plan.forward.steps] == steps
    assert interpreting(find_problems, text, plan.write(plan.tunings[0])) == []


def test_a_loss_of_a_broadcast_tensor_keeps_its_broadcast() -> None:
    text = task("return F.l1_loss(p, t)", "p = torch.randn(30, 1)\nt = torch.randn(30, 40)")
    graph = survey_task("broadcast", text).graph
    assert graph is not None
    assert [node.op.split(".")[1] for node in decompose(graph).nodes] == ["expand", "sub", "abs", "mean"]


def test_what_cannot_be_written_out_stays() -> None:
    text = task("return F.poisson_nll_loss(p, t, full=True) + F.adaptive_avg_pool1d(t, 7).sum()", PAIR)
    graph = survey_task("kept", text).graph
    assert graph is not None
    kept = {node.op for node in decompose(graph).nodes}
    assert {"aten.poisson_nll_loss.default", "aten.adaptive_avg_pool1d.default"} <= kept
