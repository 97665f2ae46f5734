"""Whether two calls return the same: the nest, dtypes, shapes and, up to rounding, the values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tilesmith.live.calls.nests import map_tensors, tensors_in

ROUNDING = 100.0
"""How many times the usual tolerance a judged kernel may differ on the live weights; the judge is stricter."""
_TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 5e-2}
_MOST_TOLERANCE = 5e-2


def shared_memory(outputs: Any, held: Sequence[torch.Tensor]) -> list[list[int]]:
    """Which of the tensors that a call found each output is a part of."""
    places = [one.untyped_storage().data_ptr() for one in held]
    return [
        [place for place, other in enumerate(places) if other == one.untyped_storage().data_ptr()]
        for one in tensors_in(outputs)
        if one.numel()
    ]


def same_outputs(found: Any, expected: Any, factor: float = 1.0) -> bool:
    """The same nest, dtypes and shapes, and values that differ by rounding at most."""

    def form(value: Any) -> str:
        return repr(map_tensors(value, lambda tensor: (tensor.dtype, tuple(tensor.shape))))

    if form(found) != form(expected):
        return False
    pairs = zip(tensors_in(found), tensors_in(expected), strict=True)
    return all(_same_values(one, other, factor) for one, other in pairs)


def _same_values(found: torch.Tensor, expected: torch.Tensor, factor: float) -> bool:
    tolerance = min(factor * _TOLERANCE.get(expected.dtype, 0.0), _MOST_TOLERANCE)
    largest = float(expected.double().nan_to_num().abs().amax()) if expected.numel() else 0.0
    return torch.allclose(
        found.double(), expected.double(), rtol=tolerance, atol=tolerance * largest, equal_nan=True
    )
