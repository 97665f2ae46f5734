"""Losses and the like, written out: the regions that they become, and what those compute."""

from __future__ import annotations

import pytest
from playbook_children import Twins, difference, find_problems, interpreting
from playbook_surveys import survey_task
from playbook_tasks import IMAGE, owner, task

from tilesmith.playbook import find_match
from tilesmith.playbook.plan.plan import Plan
from tilesmith.playbook.plan.rewriting.decompositions import decompose

PAIR = "p = torch.randn(30, 140)\nt = torch.randn(30, 140)"
SIGNS = "\ns = torch.sign(torch.randn(30))"
CLASSES = "p = torch.randn(30, 140)\nc = torch.randint(0, 100, (30,))"
PIXELS = "p = torch.randn(4, 13, 11, 7)\nc = torch.randint(0, 13, (4, 11, 7))"
ODD = "x = torch.randn(3, 2, 14, 25)"
NORM = owner("self.norm = nn.InstanceNorm2d(size, affine=True)", "self.groups = nn.GroupNorm(3, size)")
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
    "classes": ("F.cross_entropy(p, c)", CLASSES, ["rows", "rows", "rows"]),
    "classes_of_rows": ("F.cross_entropy(p * 2, c, reduction='none', label_smoothing=0.1)", CLASSES, ["rows"]),
    "classes_of_long_rows": (
        "F.cross_entropy(p, c, reduction='sum')",
        CLASSES.replace("140", "40000").replace("30", "5"),
        ["rows", "aten.sum.default"],
    ),
    "ignored_classes": (
        "F.cross_entropy(p, c.masked_fill(c > 30, -100))",
        CLASSES,
        ["rows", "aten.sum.default", "rows"],
    ),
    "classes_of_pixels": ("F.cross_entropy(p, c, reduction='none')", PIXELS, ["columns"]),
    "probabilities": ("F.cross_entropy(p, t.softmax(-1))", PAIR, ["rows", "aten.mean.default"]),
    "likelihood": ("F.nll_loss(F.log_softmax(p, -1), c, reduction='none')", CLASSES, ["rows"]),
    "group_norm": ("F.relu(self.groups(x))", IMAGE, ["rows"]),
    "instance_norm": ("F.relu(self.norm(x))", IMAGE, ["rows"]),
    "max_pool": ("F.max_pool2d(torch.relu(x), 3, 2, 1)", IMAGE, ["elementwise"]),
    "max_pool_of_rows": (
        "F.max_pool1d(x, 5, stride=2, padding=2) * 2",
        "x = torch.randn(8, 6, 90)",
        ["elementwise"],
    ),
    "max_pool_of_volumes": ("F.max_pool3d(x, 2) + 1", IMAGE, ["elementwise"]),
    "average_pool": ("F.avg_pool2d(x, 3, 2, 1)", IMAGE, ["elementwise"]),
    "average_pool_by_another": ("F.avg_pool2d(x, (2, 3), divisor_override=5).relu()", IMAGE, ["elementwise"]),
    "max_pool_to_the_end": ("F.max_pool2d(x, (3, 2), 2, (1, 0), ceil_mode=True)", ODD, ["elementwise"]),
    "average_to_the_end": ("F.avg_pool2d(x, 3, 2, ceil_mode=True)", ODD, ["elementwise"]),
    "average_of_what_is_there": (
        "F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False)",
        ODD,
        ["elementwise"],
    ),
    "average_of_as_many": (
        "F.adaptive_avg_pool2d(torch.relu(x), (2, 5))",
        "x = torch.randn(3, 2, 12, 20)",
        ["rows"],
    ),
    "pool_of_everything": ("F.adaptive_avg_pool2d(torch.relu(x), 1).flatten(1)", IMAGE, ["rows"]),
}
EVERY = {name: (formula, PAIR, ["rows"]) for name, formula in OF_ALL.items()} | BY_ROW


@pytest.mark.parametrize("name", EVERY)
def test_what_is_written_out_computes_the_same(name: str) -> None:
    formula, inputs, steps = EVERY[name]
    text = task(f"return {formula}", inputs, *((NORM, "6") if "self." in formula else ()))
    plan = find_match(survey_task(name, text))
    assert isinstance(plan, Plan), plan
    assert [getattr(step, "recipe", None) or step.op for step in plan.forward.steps] == steps
    assert interpreting(find_problems, text, plan.write(plan.tunings[0])) == []


@pytest.mark.parametrize(
    ("formula", "fitting"),
    [
        ("F.avg_pool2d(x, (7, 5)) * 2", "x.shape[-1] % 5 == 0"),
        ("F.max_pool2d(x, (7, 6)) + 1", "x.shape[-1] == 25"),
    ],
)
def test_large_windows_side_by_side_are_rows(formula: str, fitting: str) -> None:
    text = task(f"return {formula}", ODD)
    plan = find_match(survey_task("windows", text))
    assert isinstance(plan, Plan), plan
    assert [getattr(step, "recipe", None) for step in plan.forward.steps] == ["rows"]
    written = plan.write(plan.tunings[0])
    assert f"assert {fitting}" in written
    assert interpreting(find_problems, text, written, None, False) == []


BATCH_NORM = task(
    "return F.relu(self.norm(x))",
    "x = torch.randn(6, 9, 150, 131)",
    owner("self.norm = nn.BatchNorm2d(size)"),
    "9",
)


def test_a_batch_norm_in_training_is_a_kernel_that_keeps_its_statistics() -> None:
    plan = find_match(survey_task("batch_norm", BATCH_NORM))
    assert isinstance(plan, Plan)
    steps = [getattr(step, "recipe", None) or step.op for step in plan.forward.steps]
    assert steps == ["aten.add_.Tensor", "rows", "aten.lerp_.Scalar", "aten.lerp_.Scalar"]
    for tuning in plan.tunings[:2]:
        assert interpreting(train_both, BATCH_NORM, plan.write(tuning)) < 1e-5


def train_both(text: str, kernel: str) -> float:
    """How far apart the results and the statistics are after a pass in training mode."""
    import torch

    twins = Twins(text, kernel)
    twins.written.train()
    twins.reference.train()
    x = torch.randn(6, 9, 150, 131) * 3 + 5
    error = twins.error(x)
    kept = [list(model.state_dict().values()) for model in (twins.written, twins.reference)]
    return max(error, difference(*kept))


def test_a_loss_of_a_broadcast_tensor_keeps_its_broadcast() -> None:
    text = task("return F.l1_loss(p, t)", "p = torch.randn(30, 1)\nt = torch.randn(30, 40)")
    graph = survey_task("broadcast", text).graph
    assert graph is not None
    assert [node.op.split(".")[1] for node in decompose(graph).nodes] == ["expand", "sub", "abs", "mean"]


def test_what_cannot_be_written_out_stays() -> None:
    text = task("return F.poisson_nll_loss(p, t, full=True) + F.adaptive_avg_pool1d(t, 9).sum()", PAIR)
    graph = survey_task("kept", text).graph
    assert graph is not None
    kept = {node.op for node in decompose(graph).nodes}
    assert {"aten.poisson_nll_loss.default", "aten.adaptive_avg_pool1d.default"} <= kept


def test_a_loss_of_several_types_stays() -> None:
    """PyTorch computes it in the wider one, whichever operand has that."""
    text = task("return F.mse_loss(p, t.double()), F.l1_loss(p.half(), t), F.huber_loss(p, t.half())", PAIR)
    graph = survey_task("types", text).graph
    assert graph is not None
    kept = {node.op for node in decompose(graph).nodes if "_loss" in node.op}
    assert kept == {"aten.mse_loss.default", "aten.l1_loss.default"}


def infinite_rows(text: str, source: str) -> float:
    """The difference where rows hold +inf at the target, +inf elsewhere, nothing but -inf, or -inf at one place."""
    import torch

    twins = Twins(text, source)
    p, c = twins.loaded.make_inputs(seed=0).args
    p[0, int(c[0])] = p[1, (int(c[1]) + 1) % 140] = torch.inf
    p[2], p[3, (int(c[3]) + 1) % 140] = -torch.inf, -torch.inf
    (expected,), (got,) = twins.expected(p, c), twins.outputs(p, c)
    assert expected[:3].isnan().all()
    assert got[:3].isnan().all()
    return difference([got[3:]], [expected[3:]])


def test_a_row_with_infinity_has_no_cross_entropy() -> None:
    text = task("return F.cross_entropy(p, c, reduction='none')", CLASSES)
    match = find_match(survey_task("infinite", text))
    assert isinstance(match, Plan)
    assert interpreting(infinite_rows, text, match.write(match.tunings[0])) < 1e-5
