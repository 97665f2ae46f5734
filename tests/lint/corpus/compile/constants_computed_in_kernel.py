# kernel_type: reduction
# complexity: low
# outcome: works
# near: tensor-truth, unknown-language-function, constexpr-misuse, tensor-indexing
"""Constant arithmetic, messages and assertions that the compiler carries out, and the rarer functions and methods."""
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice


@triton.jit
def unusual(x_ptr, y_ptr, n, ROWS: tl.constexpr, COLS: tl.constexpr):
    """Docstrings are fine."""
    tl.static_assert(ROWS * COLS <= 4096, f"too many elements: {ROWS * COLS}")
    assert ROWS > 0
    AREA: tl.constexpr = ROWS * COLS
    SQUARE: tl.constexpr = COLS**2
    pid = tl.program_id(0)
    offs = pid * AREA + tl.arange(0, AREA)
    flat = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tile = flat.reshape(ROWS, COLS)
    tile = tile.T.trans().to(tl.float32)
    low, high = float("-inf"), float(SQUARE)
    peak = max(min(COLS, 16), 1)
    total = tile.sum(axis=1).expand_dims(1) + tl.zeros_like(tile)
    tile = libdevice.tanh(tile) + tl.math.exp2(tile * 0.0) + tl.extra.libdevice.isnan(tile).to(tl.float32)
    tile = tl.where(tile > low, tile, low) / high * peak + total * 0.0
    size = len(tile.shape)
    tl.store(y_ptr + offs, tl.ravel(tile) * size, mask=offs < n)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        unusual[(triton.cdiv(n, 512),)](x, y, n, ROWS=8, COLS=64)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(1000)]
