"""How much of a candidate's answer torch had made without a kernel."""

from __future__ import annotations

import torch

from tilesmith.tasks.draws import ALL_DRAWS
from tilesmith.worker.tensors.exchange import tensors_in
from tilesmith.worker.truth.copied_answers import NEAR, distance
from tilesmith.worker.truth.variant import Variant

_EQUAL, _EQUAL_HALVES = 1e-5, 1e-2
_FEWEST_TELLING = 0.01
"""Share of the elements that must differ from the inputs before their agreement says anything."""


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
    """Tasks whose inputs are all whole numbers have one answer for all draws.

    A draw that is made from another one, as that with equal corners is, says nothing: it is near it anyway.
    """
    truth = variant.answer(draw).truth
    known = variant.known_answers()
    others = [known[other] for other in ALL_DRAWS if other in known and other != draw]
    return any(distance(truth, other) < NEAR for other in others)


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
