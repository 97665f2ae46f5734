"""Outputs against the answer of a draw: the one path for what candidates return and for what cheats would."""

from __future__ import annotations

from typing import Any

from tilesmith.worker.tensors.exchange import Flat
from tilesmith.worker.truth.comparison import layout_problem, measure, without_truth
from tilesmith.worker.truth.variant import Answer, Variant


def measured(variant: Variant, answer: Answer, outputs: Flat) -> dict[str, Any]:
    """Plain numbers for the judge, or the reason why the outputs are not even of the right form."""
    problem = layout_problem(outputs, answer.eager)
    if problem:
        return {"problem": problem}
    stats = [
        measure(got, truth, eager, answer.log.behind(truth) if not truth.is_floating_point() else None)
        for got, truth, eager in zip(outputs.tensors, answer.truth.tensors, answer.eager.tensors, strict=True)
    ]
    if not answer.is_exact:
        return {"outputs": [without_truth(one) for one in stats], "truth": answer.truth_is}
    return {"outputs": [variant.steadied(one, i) for i, one in enumerate(stats)]}
