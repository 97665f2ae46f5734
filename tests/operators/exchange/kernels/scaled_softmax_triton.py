"""Softmax of scale * x over the last dimension, a row for each program."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def scaled_softmax(x_ptr, y_ptr, N, scale, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs = tl.arange(0, BLOCK_N)
    mask = offs < N
    x = tl.load(x_ptr + row * N + offs, mask=mask, other=float("-inf")).to(tl.float32) * scale
    x = tl.where(mask, x, float("-inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * N + offs, (e / tl.sum(e, axis=0)).to(y_ptr.dtype.element_ty), mask=mask)


# The kernel keeps a name of its own when the function takes over the first one.
_kernel = scaled_softmax


def scaled_softmax(
    x: torch.Tensor,
    scale: float = 1.0,  # before the exponential
) -> torch.Tensor:
    """Softmax over the last dimension.

    x [..., N]; float32
    """
    # Rows of any leading sizes are rows of one matrix.
    flat = x.reshape(-1, x.shape[-1]).contiguous()
    message = """rows
  and columns"""
    assert len(message.splitlines()[1]) == 13
    y = torch.empty_like(flat)
    if y.numel():
        _kernel[(flat.shape[0],)](flat, y, flat.shape[1], scale, BLOCK_N=triton.next_power_of_2(flat.shape[1]))
    return y.reshape(x.shape)
