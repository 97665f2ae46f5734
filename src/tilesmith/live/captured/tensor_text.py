"""Tensors as text that makes others like them: same shape, strides and dtype, values of the same statistics."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from tilesmith.errors import TaskError

_WHOLE = 64
"""Tensors of integers and masks up to so many elements are written down as they are."""


def random_text(tensor: torch.Tensor, sizes: Mapping[int, str]) -> str:
    """An expression. `sizes`: names of sizes that the text may use."""
    if tensor.is_complex() or tensor.is_quantized:
        raise TaskError(f"it has a {tensor.dtype} tensor, which tasks have no words for")
    shape = [sizes.get(size, str(size)) for size in tensor.shape]
    if tensor.is_contiguous():
        return _values_text(tensor, shape)
    order = sorted(range(tensor.dim()), key=lambda place: -tensor.stride(place))
    if tensor.permute(order).is_contiguous():
        back = [order.index(place) for place in range(tensor.dim())]
        return f"({_values_text(tensor, [shape[place] for place in order])}).permute({back})"
    extent = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    return f"({_values_text(tensor, [str(extent)])}).as_strided({list(tensor.shape)}, {list(tensor.stride())})"


def _values_text(tensor: torch.Tensor, shape: list[str]) -> str:
    size = ", ".join(shape)
    if tensor.numel() == 0:
        raise TaskError("it is called with an empty tensor")
    if tensor.dtype == torch.bool:
        share = float(tensor.float().mean())
        return f"(torch.rand({size or '()'}) < {share:.4g})"
    if not tensor.is_floating_point():
        if tensor.numel() <= _WHOLE and tensor.is_contiguous():
            return f"torch.tensor({tensor.tolist()}, dtype={tensor.dtype})"
        low, high = int(tensor.min()), int(tensor.max())
        return f"torch.randint({low}, {high + 1}, ({size}{',' if len(shape) == 1 else ''}), dtype={tensor.dtype})"
    finite = tensor.detach().float()
    finite = finite[finite.isfinite()]
    spread, middle = (float(finite.std(correction=0)), float(finite.mean())) if finite.numel() else (0.0, 0.0)
    text = f"torch.randn({size or '()'})"
    text = f"{text} * {spread:.4g}" if spread else f"torch.zeros({size or '()'})"
    if abs(middle) > 0.1 * spread:
        text += f" {'-' if middle < 0 else '+'} {abs(middle):.4g}"
    if finite.numel() < tensor.numel():
        share = 1 - finite.numel() / tensor.numel()
        text = f"torch.where(torch.rand({size}) < {share:.4g}, {_odd_value(tensor)}, {text})"
    text = f"({text})" if tensor.dtype != torch.float32 else text
    return text if tensor.dtype == torch.float32 else f"{text}.to({tensor.dtype})"


def _odd_value(tensor: torch.Tensor) -> str:
    return 'float("nan")' if tensor.isnan().any() else 'float("-inf")' if tensor.min() < 0 else 'float("inf")'
