"""Copied answers: is this the answer to an earlier draw?"""

from __future__ import annotations

import torch

from tilesmith.worker.tensors.exchange import FlatOutputs
from tilesmith.worker.truth.error_statistics import relative_distance
from tilesmith.worker.truth.variant import Answer, Variant

_FAR = 0.05
"""Relative distance from the right answer beyond which another draw's answer is looked for."""
NEAR = 0.01
_FEWEST_ELEMENTS = 16
"""A few numbers may be near those of another draw by chance."""


def find_copied_draw(variant: Variant, draw: str, own: Answer, outputs: FlatOutputs) -> str | None:
    """The other draw whose answer this is, for outputs that are far from the answer of their own."""
    if sum(t.numel() for t in outputs.tensors) < _FEWEST_ELEMENTS or distance(outputs, own) < _FAR:
        return None
    for other, answer in variant.known_answers().items():
        if other != draw and any(bool(t.any()) for t in answer.truth.tensors) and distance(outputs, answer) < NEAR:
            return other
    return None


def distance(outputs: FlatOutputs, answer: Answer) -> float:
    """Of the output that is farthest off; infinite where the form is another."""
    if len(outputs.tensors) != len(answer.truth.tensors):
        return float("inf")
    return max((_apart(a, b) for a, b in zip(outputs.tensors, answer.truth.tensors, strict=True)), default=0.0)


def _apart(output: torch.Tensor, truth: torch.Tensor) -> float:
    if output.shape != truth.shape or truth.is_complex():
        return float("inf")
    apart = relative_distance(output, truth)
    return apart if apart == apart else float("inf")
