"""What losses and distances are for each element or row, before they are reduced, in PyTorch's order.

A number that the caller gave stands by itself, never in a number made of it: it may be an argument of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tilesmith.playbook.plan.rewriting.writer import Value

_SPREAD_EPSILON = 1e-12


def _mse(x: Value, t: Value) -> Value:
    return (x - t).apply("square.default")


def _l1(x: Value, t: Value) -> Value:
    return (x - t).apply("abs.default")


def _smooth_l1(x: Value, t: Value, beta: float = 1.0) -> Value:
    size = _l1(x, t)
    if beta == 0:
        return size
    return size.compared("lt", beta).where(size * size * 0.5 / beta, (size * 2 - beta) * 0.5)


def _huber(x: Value, t: Value, delta: float = 1.0) -> Value:
    size = _l1(x, t)
    return size.compared("le", delta).where(size * size * 0.5, (size * 2 - delta) * 0.5 * delta)


def _kl_div(x: Value, t: Value, log_target: bool = False) -> Value:
    if log_target:
        return t.apply("exp.default") * (t - x)
    entropy = t.compared("eq", 0).where(t * 0.0, t * t.apply("log.default"))
    return entropy - t * x


def _binary_cross_entropy(x: Value, t: Value, weight: Value | None = None) -> Value:
    missed = x.apply("neg.default").apply("log1p.default").apply("clamp_min.default", -100.0)
    loss = (t - 1) * missed - t * x.apply("log.default").apply("clamp_min.default", -100.0)
    return loss if weight is None else loss * weight


def _with_logits(x: Value, t: Value, weight: Value | None = None, positive: Value | None = None) -> Value:
    logarithm = x.apply("log_sigmoid.default")
    if positive is not None:
        logarithm = logarithm * ((positive - 1) * t + 1)
    loss = (1 - t) * x - logarithm
    return loss if weight is None else loss * weight


def _soft_margin(x: Value, t: Value) -> Value:
    return (x * t).apply("neg.default").apply("exp.default").apply("log1p.default")


def _hinge_embedding(x: Value, t: Value, margin: float = 1.0) -> Value:
    apart = t.compared("ne", 1).where((margin - x).apply("clamp_min.default", 0), 0.0)
    return apart + t.compared("ne", -1).where(x, 0.0)


def _margin_ranking(a: Value, b: Value, t: Value, margin: float = 0.0) -> Value:
    return ((b - a) * t + margin).apply("clamp_min.default", 0)


def _poisson(x: Value, t: Value, log_input: bool, full: bool, epsilon: float) -> Value | None:
    if full:
        return None
    if log_input:
        return x.apply("exp.default") - t * x
    return x - t * (x + epsilon).apply("log.default")


def _pairwise_distance(a: Value, b: Value, order: float = 2.0, epsilon: float = 1e-6) -> Value:
    return (a - b + epsilon).over("linalg_vector_norm.default", -1, order)


def _triplet(
    a: Value,
    p: Value,
    n: Value,
    margin: float = 1.0,
    order: float = 2.0,
    epsilon: float = 1e-6,
    swap: bool = False,
) -> Value:
    near, far = _pairwise_distance(a, p, order, epsilon), _pairwise_distance(a, n, order, epsilon)
    if swap:
        far = far.apply("minimum.default", _pairwise_distance(p, n, order, epsilon))
    return (near - far + margin).apply("clamp_min.default", 0)


def _cosine_similarity(a: Value, b: Value, dim: int = 1, epsilon: float = 1e-8) -> Value:
    both = (a * b).over("sum.dim_IntList", dim)
    sizes = [one.over("linalg_vector_norm.default", dim, 2).apply("clamp_min.default", epsilon) for one in (a, b)]
    return both / (sizes[0] * sizes[1])


def _cosine_embedding(a: Value, b: Value, t: Value, margin: float = 0.0) -> Value:
    both = (a * b).over("sum.dim_IntList", -1)
    sizes = [(one * one).over("sum.dim_IntList", -1) + _SPREAD_EPSILON for one in (a, b)]
    cosine = both / (sizes[0] * sizes[1]).apply("sqrt.default")
    apart = t.compared("eq", -1).where((cosine - margin).apply("clamp_min.default", 0), 0.0)
    return t.compared("eq", 1).where(1 - cosine, apart)


@dataclass(frozen=True)
class Loss:
    """What a loss is before it is reduced, and which of its arguments that takes."""

    write: Callable[..., Value | None]
    arguments: tuple[tuple[int, str], ...]
    """Where they stand, and their names."""
    reduction: int | None
    """Where the reduction stands; None for an operator without."""


_TWO = ((0, "self"), (1, "target"))
_PAIR = ((0, "x1"), (1, "x2"))
LOSSES = {
    "mse_loss": Loss(_mse, _TWO, 2),
    "l1_loss": Loss(_l1, _TWO, 2),
    "smooth_l1_loss": Loss(_smooth_l1, (*_TWO, (3, "beta")), 2),
    "huber_loss": Loss(_huber, (*_TWO, (3, "delta")), 2),
    "kl_div": Loss(_kl_div, (*_TWO, (3, "log_target")), 2),
    "binary_cross_entropy": Loss(_binary_cross_entropy, (*_TWO, (2, "weight")), 3),
    "binary_cross_entropy_with_logits": Loss(_with_logits, (*_TWO, (2, "weight"), (3, "pos_weight")), 4),
    "soft_margin_loss": Loss(_soft_margin, _TWO, 2),
    "hinge_embedding_loss": Loss(_hinge_embedding, (*_TWO, (2, "margin")), 3),
    "margin_ranking_loss": Loss(_margin_ranking, (*_PAIR, (2, "target"), (3, "margin")), 4),
    "poisson_nll_loss": Loss(_poisson, (*_TWO, (2, "log_input"), (3, "full"), (4, "eps")), 5),
    "pairwise_distance": Loss(_pairwise_distance, (*_PAIR, (2, "p"), (3, "eps")), None),
    "triplet_margin_loss": Loss(
        _triplet, (*_TWO, (2, "negative"), (3, "margin"), (4, "p"), (5, "eps"), (6, "swap")), 7
    ),
    "cosine_similarity": Loss(_cosine_similarity, (*_PAIR, (2, "dim"), (3, "eps")), None),
    "cosine_embedding_loss": Loss(_cosine_embedding, (*_PAIR, (2, "target"), (3, "margin")), 4),
}
