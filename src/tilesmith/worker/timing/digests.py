"""A few numbers in place of a tensor: enough to tell an answer from another answer, cheap enough for every call."""

from __future__ import annotations

import math
from functools import lru_cache

import torch

Digest = tuple[float, float]
"""A projection and the norm."""
_COLUMNS = 4099
"""A prime, so that columns of the digest do not line up with those of the tensor."""
_CHUNK = 4096 * _COLUMNS
_SUMMED_IN = {
    torch.float64: torch.float64,
    torch.float32: torch.float32,
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
}
"""Types whose sums torch makes without a wider copy first, and the type of the sums."""


def digest_of(tensor: torch.Tensor) -> Digest:
    """The projection onto fixed random signs, and the norm; NaN and infinity count as zero."""
    real = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    flat = real.detach().flatten()
    if flat.dtype in _SUMMED_IN:  # read twice, and nothing is copied
        norm = torch.linalg.vector_norm(flat, dtype=_SUMMED_IN[flat.dtype])
        digest = _numbers(_folded(flat, _SUMMED_IN[flat.dtype]), norm)
        if all(map(math.isfinite, digest)):
            return digest
    folded = torch.zeros(_COLUMNS, dtype=torch.float64, device=flat.device)
    square = torch.zeros((), dtype=torch.float64, device=flat.device)
    for start in range(0, flat.numel(), _CHUNK):
        part = flat[start : start + _CHUNK].double().nan_to_num(0.0, 0.0, 0.0)
        square += part.square().sum()
        folded += _folded(part, torch.float64)
    return _numbers(folded, square.sqrt())


def _folded(flat: torch.Tensor, summed_in: torch.dtype) -> torch.Tensor:
    """The sums of every so many elements."""
    whole = flat.numel() // _COLUMNS * _COLUMNS
    folded = flat[:whole].view(-1, _COLUMNS).sum(0, dtype=summed_in)
    folded[: flat.numel() - whole] += flat[whole:]
    return folded.double()


def _numbers(folded: torch.Tensor, norm: torch.Tensor) -> Digest:
    projection, size = torch.stack([(folded * _signs(str(folded.device))).sum(), norm.double()]).tolist()
    return projection, size


@lru_cache(maxsize=4)
def _signs(device: str) -> torch.Tensor:
    generator = torch.Generator().manual_seed(20_023)
    return (torch.randint(0, 2, (_COLUMNS,), generator=generator) * 2 - 1).double().to(device)
