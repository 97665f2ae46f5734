"""Copied answers: is this the answer to an earlier draw, and how much of it had torch made without a kernel?"""

from __future__ import annotations

import torch

from tilesmith.worker.tensors.exchange import FlatOutputs, tensors_in
from tilesmith.worker.truth.variant import Answer, Variant

_FAR = 0.05
"""Relative distance from the right answer beyond which another draw's answer is looked for."""
_NEAR = 0.01
_FEWEST_ELEMENTS = 16
"""A few numbers may be near those of another draw by chance."""
_EQUAL, _EQUAL_HALVES = 1e-5, 1e-2
_FEWEST_TELLING = 0.01
"""Share of the elements that must differ from the inputs before their agreement says anything."""


def find_copied_draw(variant: Variant, draw: str, outputs: FlatOutputs) -> str | None:
    """The other draw whose answer this is, for outputs that are far from the answer of their own."""
    if (
        sum(t.numel() for t in outputs.tensors) < _FEWEST_ELEMENTS
        or _distance(outputs, variant.answer(draw)) < _FAR
    ):
        return None
    for other, answer in variant.known_answers().items():
        if (
            other != draw
            and any(bool(t.any()) for t in answer.truth.tensors)
            and _distance(outputs, answer) < _NEAR
        ):
            return other
    return None


def measure_torch_share(variant: Variant, draw: str, held: list[torch.Tensor], positions: list[int]) -> float:
    """How much of an output was among what torch had made without a kernel; of the output with the least of it."""
    truths = variant.answer(draw).truth.tensors
    if _is_the_same_everywhere(variant, draw):
        return 0.0  # a buffer that is used again holds the answer of the call before
    inputs = [t for t in tensors_in(variant.inputs(draw)) if t.is_floating_point()]
    best = {position: 0.0 for position, truth in enumerate(truths) if truth.is_floating_point()}
    for tensor, position in zip(held, positions, strict=True):
        if position in best:
            best[position] = max(best[position], _share(tensor, truths[position], inputs))
    return min(best.values(), default=0.0)


def _is_the_same_everywhere(variant: Variant, draw: str) -> bool:
    """Tasks whose inputs are all whole numbers have one answer for all draws."""
    truth = variant.answer(draw).truth
    others = [answer for other, answer in variant.known_answers().items() if other != draw]
    return any(_distance(truth, other) < _NEAR for other in others)


def _share(held: torch.Tensor, truth: torch.Tensor, inputs: list[torch.Tensor]) -> float:
    if held.numel() != truth.numel() or held.numel() == 0 or not truth.is_floating_point():
        return 0.0
    if not bool((held != held.flatten()[0]).any()):
        return 0.0  # zeros to be filled, not an answer
    exact = held.dtype in (torch.float32, torch.float64)
    held, truth = held.double().flatten(), truth.double().flatten()
    slack = (_EQUAL if exact else _EQUAL_HALVES) * (truth.abs() + truth.square().mean().sqrt())
    telling = torch.ones_like(truth, dtype=torch.bool)
    for one in inputs:
        if one.numel() == truth.numel():
            telling &= (one.double().flatten() - truth).abs() > slack
    count = int(telling.sum())
    if count < max(1.0, _FEWEST_TELLING * truth.numel()):
        return 0.0
    forms = (held, -held, held.flip(0))  # a decoy may have something left to undo
    return max(int((((form - truth).abs() <= slack) & telling).sum()) / count for form in forms)


def _distance(outputs: FlatOutputs, answer: Answer) -> float:
    """Of the output that is farthest off; infinite where the form is another."""
    if len(outputs.tensors) != len(answer.truth.tensors):
        return float("inf")
    return max((_apart(a, b) for a, b in zip(outputs.tensors, answer.truth.tensors, strict=True)), default=0.0)


def _apart(output: torch.Tensor, truth: torch.Tensor) -> float:
    if output.shape != truth.shape or truth.is_complex():
        return float("inf")
    wide = truth.double()
    apart = float((output.double() - wide).norm()) / max(float(wide.norm()), 1e-300)
    return apart if apart == apart else float("inf")
