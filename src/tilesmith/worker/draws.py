"""Draws: the inputs a candidate is checked on.

Besides the task's own inputs under fresh seeds there are variations of them, because many tasks draw from
[0, 1) and such inputs cannot tell a ReLU from the identity or show an overflow in an unguarded exp.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from tilesmith.worker.exchange import map_tensors, tensors_in

DRAWS = ("own", "own again", "scaled", "wild", "shifted", "sparse")
"""In order of how much they tell; a caller short of time takes the first few."""

Variation = Callable[[torch.Tensor, torch.Generator], torch.Tensor]


def seed_everything(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def draw_inputs(make_inputs: Callable[[], Any], kind: str, seed: int) -> list[Any]:
    """The task's inputs under `seed`, varied as `kind` says; integer inputs keep the task's own range."""
    position = DRAWS.index(kind)
    seed_everything(seed + 7919 * position)
    inputs = list(make_inputs())
    variation = _VARIATIONS.get(kind)
    if variation is None:
        return inputs

    def vary(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.is_floating_point() or _is_mask(tensor):
            return tensor
        generator = torch.Generator(tensor.device).manual_seed(seed + position)
        return torch.where(tensor.isfinite(), variation(tensor, generator), tensor).to(tensor.dtype)

    return [map_tensors(value, vary) for value in inputs]


def vary_for_timing(inputs: list[Any], base: list[Any], seed: int) -> None:
    """New values in place, at the same addresses, the same in every process: each timed call sees its own."""
    factor = 1.0 + (seed * 2654435761 % 1024 - 512) / 4096

    for target, source in zip(tensors_in(inputs), tensors_in(base), strict=True):
        if target.is_floating_point() and not _is_mask_cached(source):
            torch.mul(source, factor, out=target)


def _scaled(x: torch.Tensor, _: torch.Generator) -> torch.Tensor:
    return x * 4


def _shifted(x: torch.Tensor, _: torch.Generator) -> torch.Tensor:
    spread = x.float().std() if x.numel() > 1 else torch.ones(())
    return x + 4 * spread.nan_to_num(1.0).clamp(min=0.1).to(x)


def _wild(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Heavy tails and both signs."""
    noise = torch.randn(x.shape, generator=generator, device=x.device).clamp(-3, 3)
    sign = torch.randint(0, 2, x.shape, generator=generator, device=x.device) * 2 - 1
    return x * (noise.exp() * sign).to(x)


def _sparse(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    keep = torch.rand(x.shape, generator=generator, device=x.device) < 0.6
    sign = torch.randint(0, 2, x.shape, generator=generator, device=x.device) * 2 - 1
    return x * (keep * sign).to(x)


_VARIATIONS: dict[str, Variation] = {"scaled": _scaled, "wild": _wild, "shifted": _shifted, "sparse": _sparse}


def _is_mask(tensor: torch.Tensor) -> bool:
    """Zeros and ones, both present: a mask, whose meaning a variation would destroy."""
    if tensor.numel() < 2:
        return False
    zeros = tensor == 0
    return bool((zeros | (tensor == 1)).all()) and bool(zeros.any()) and not bool(zeros.all())


def _is_mask_cached(tensor: torch.Tensor) -> bool:
    known = getattr(tensor, "_tilesmith_is_mask", None)
    if known is None:
        known = _is_mask(tensor)
        tensor._tilesmith_is_mask = known
    return bool(known)
