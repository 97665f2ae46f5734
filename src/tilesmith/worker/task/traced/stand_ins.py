"""Operators whose results have a size that depends on values, as nodes of the size that they usually have.

Fake tensors have no values, so a pass with `bincount` or `ctc_loss` could not be traced. While it is, a stand-in
with the same arguments takes their place; the graph calls it by its real name. Where a result may be larger
(`bincount` of a value beyond `minlength`), whoever writes the pass out checks that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.nn import functional

_SCHEMAS = {
    "bincount": "(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor",
    "ctc_loss": (
        "(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, "
        "int reduction=1, bool zero_infinity=False) -> Tensor"
    ),
}
REAL_NAMES = {
    "tilesmith_sizes.bincount.default": "aten.bincount.default",
    "tilesmith_sizes.ctc_loss.default": "aten.ctc_loss.Tensor",
}
_FUNCTIONS = {torch.bincount: "bincount", torch.Tensor.bincount: "bincount", functional.ctc_loss: "ctc_loss"}
_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}
_library: list[Any] = []
"""Holds the stand-ins: PyTorch forgets an operator when its library is collected."""


def find_stand_in(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Callable[..., Any]:
    """What is called in place of a function of torch: itself, for nearly all of them."""
    kind = _FUNCTIONS.get(function)
    if kind == "bincount" and not (args[2] if len(args) > 2 else kwargs.get("minlength", 0)):
        return function
    if kind is None or (kind == "ctc_loss" and not all(isinstance(one, torch.Tensor) for one in args[:4])):
        return function
    if not _library:
        _library.append(torch.library.Library("tilesmith_sizes", "DEF"))
        for name, schema in _SCHEMAS.items():
            _library[0].define(name + schema)
            _library[0].impl(name, _RESULTS[name], "CompositeExplicitAutograd")
    nodes = torch.ops.tilesmith_sizes
    return nodes.bincount if kind == "bincount" else _ctc_loss


def _ctc_loss(*args: Any, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> Any:
    """As `torch.nn.functional` has it."""
    tensors, settings = args[:4], [*args[4:], *(blank, reduction, zero_infinity)[max(len(args) - 4, 0) :]]
    return torch.ops.tilesmith_sizes.ctc_loss(*tensors, settings[0], _REDUCTIONS[settings[1]], settings[2])


def _counts(values: torch.Tensor, weights: torch.Tensor | None = None, minlength: int = 0) -> torch.Tensor:
    dtype = torch.int64 if weights is None else torch.float32 if weights.dtype == torch.float32 else torch.float64
    return values.new_empty((minlength,), dtype=dtype)


def _losses(log_probs: torch.Tensor, *others: Any) -> torch.Tensor:
    reduction = others[4]
    return log_probs.new_empty(() if reduction or log_probs.dim() < 3 else log_probs.shape[1])


_RESULTS = {"bincount": _counts, "ctc_loss": _losses}
