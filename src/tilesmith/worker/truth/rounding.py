"""Numbers as a narrower type would hold them, in the type they came in."""

from __future__ import annotations

import torch

_NARROWER = {torch.float64: torch.float32, torch.float32: torch.float16}
_EIGHT_BIT_DIGITS = 4
"""Significant bits of an eight-bit float (e4m3), the hidden one included."""


def to_bfloat16(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.bfloat16().to(tensor.dtype) if tensor.dtype == torch.float32 else tensor


def round_to_half_width(tensor: torch.Tensor) -> torch.Tensor:
    """In half the bits; sixteen-bit types keep their exponents and lose the digits an eight-bit type has not."""
    if tensor.dtype in _NARROWER:
        return tensor.to(_NARROWER[tensor.dtype]).to(tensor.dtype)
    return _to_digits(tensor, _EIGHT_BIT_DIGITS) if tensor.is_floating_point() else tensor


def coarser(tensor: torch.Tensor) -> torch.Tensor:
    """What a kernel that computes in the next cheaper type sees of its operands."""
    return to_bfloat16(tensor) if tensor.dtype == torch.float32 else round_to_half_width(tensor)


def _to_digits(tensor: torch.Tensor, digits: int) -> torch.Tensor:
    fraction, exponent = tensor.float().frexp()
    rounded = torch.ldexp((fraction * 2**digits).round(), exponent - digits)
    return torch.where(tensor.isfinite(), rounded, tensor.float()).to(tensor.dtype)
