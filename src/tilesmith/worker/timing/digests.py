"""A few numbers in place of a tensor: enough to tell an answer from another answer, cheap enough for every call."""

from __future__ import annotations

from functools import lru_cache

import torch

Digest = tuple[float, float]
"""A projection and the norm."""
_COLUMNS = 4099
"""A prime, so that columns of the digest do not line up with those of the tensor."""
_CHUNK = 4096 * _COLUMNS


def digest_of(tensor: torch.Tensor) -> Digest:
    """The projection onto fixed random signs, and the norm; NaN and infinity count as zero."""
    real = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    flat = real.detach().flatten()
    folded = torch.zeros(_COLUMNS, dtype=torch.float64, device=flat.device)
    square = torch.zeros((), dtype=torch.float64, device=flat.device)
    for start in range(0, flat.numel(), _CHUNK):
        part = flat[start : start + _CHUNK].double().nan_to_num(0.0, 0.0, 0.0)
        square += part.square().sum()
        whole = part.numel() // _COLUMNS * _COLUMNS
        folded += part[:whole].view(-1, _COLUMNS).sum(0)
        folded[: part.numel() - whole] += part[whole:]
    return float(folded @ _signs(str(flat.device))), float(square.sqrt())


@lru_cache(maxsize=4)
def _signs(device: str) -> torch.Tensor:
    generator = torch.Generator().manual_seed(20_023)
    return (torch.randint(0, 2, (_COLUMNS,), generator=generator) * 2 - 1).double().to(device)
