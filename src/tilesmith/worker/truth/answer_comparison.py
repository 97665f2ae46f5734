"""Outputs against the answer of a draw: the one path for what candidates return and for what cheats would."""

from __future__ import annotations

from tilesmith.process.protocol.comparison import Comparison
from tilesmith.worker.tensors.exchange import FlatOutputs
from tilesmith.worker.truth.error_statistics import layout_problem, measure, output_names, without_truth
from tilesmith.worker.truth.variant import Answer, Variant

_ON_CPU = "the truth was computed in float64 on the CPU: it does not fit, or does not run, on the GPU"


def compare_with_answer(variant: Variant, answer: Answer, outputs: FlatOutputs) -> Comparison:
    """Plain numbers for the judge, or the reason why the outputs are not even of the right form."""
    problem = layout_problem(outputs, answer.eager)
    if problem:
        return Comparison(layout_problem=problem)
    statistics = [
        measure(got, truth, eager, answer.log.behind(truth) if not truth.is_floating_point() else None)
        for got, truth, eager in zip(outputs.tensors, answer.truth.tensors, answer.eager.tensors, strict=True)
    ]
    names = tuple(output_names(answer.eager))
    if not answer.is_exact:
        return Comparison(tuple(map(without_truth, statistics)), names, truth_note=answer.truth_is)
    note = _ON_CPU if variant.device == "cuda" and answer.truth_is == "float64 on cpu" else None
    return Comparison(tuple(variant.steadied(one, i) for i, one in enumerate(statistics)), names, truth_note=note)
