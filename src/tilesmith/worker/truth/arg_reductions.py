"""Ties: an argmax may point at any of several equal maxima, so index outputs are compared by what they pick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from tilesmith.worker.compat.torch_names import TorchDispatchMode, schema_of

_INDEX_RESULT = {
    "argmax": None,
    "argmin": None,
    "max": 1,
    "min": 1,
    "topk": 1,
    "sort": 1,
    "median": 1,
    "kthvalue": 1,
}
"""aten operator name to the position of the indices in what it returns."""


@dataclass(frozen=True)
class ArgReduction:
    """An operand and the dimension (None: flattened) along which indices were picked from it."""

    operand: torch.Tensor
    dim: int | None
    indices: torch.Tensor


class ArgReductionLog(TorchDispatchMode):
    """Remembers every index-picking operator that runs under it."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[ArgReduction] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func.__name__.split(".")[0]
        if name in _INDEX_RESULT:
            position = _INDEX_RESULT[name]
            indices = result if position is None else _item(result, position)
            if isinstance(indices, torch.Tensor) and not indices.is_floating_point():
                self.seen.append(ArgReduction(args[0], _dim(func, args, kwargs or {}), indices))
        return result

    def behind(self, output: torch.Tensor) -> ArgReduction | None:
        """The operator whose indices this output is, if any."""
        for reduction in reversed(self.seen):
            same_memory = reduction.indices.data_ptr() == output.data_ptr()
            if same_memory and reduction.indices.numel() == output.numel():
                return reduction
        return None


def same_choice(reduction: ArgReduction, ours: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
    """Where both indices pick the same value (to rounding of float32) from the operand."""
    shape = ours.shape
    operand = reduction.operand.flatten() if reduction.dim is None else reduction.operand
    dim = 0 if reduction.dim is None else reduction.dim % max(operand.ndim, 1)
    size = operand.shape[dim]
    ours, theirs = ours.to(operand.device), theirs.to(operand.device)
    valid = (ours >= 0) & (ours < size)
    if reduction.dim is None:
        ours, theirs, valid = ours.reshape(()), theirs.reshape(()), valid.reshape(())
    picked = [_gather(operand, dim, index.clamp(0, size - 1)) for index in (ours, theirs)]
    scale = picked[1].double().abs().nan_to_num(0, 0, 0)
    close = (picked[0].double() - picked[1].double()).abs() <= 4 * torch.finfo(torch.float32).eps * scale
    return (valid & (close | (picked[0] == picked[1]))).reshape(shape)


def _gather(operand: torch.Tensor, dim: int, index: torch.Tensor) -> torch.Tensor:
    if index.ndim == operand.ndim:
        return operand.gather(dim, index)
    return operand.gather(dim, index.unsqueeze(dim)).squeeze(dim)


def _item(result: Any, position: int) -> Any:
    return result[position] if isinstance(result, tuple | list) and len(result) > position else None


def _dim(func: Any, args: Any, kwargs: dict[str, Any]) -> int | None:
    """The `dim` argument by the operator's own schema, with its default."""
    for position, argument in enumerate(schema_of(func).arguments):
        if argument.name == "dim":
            value = args[position] if position < len(args) else kwargs.get("dim", argument.default_value)
            return None if value is None else int(value)
    return None
