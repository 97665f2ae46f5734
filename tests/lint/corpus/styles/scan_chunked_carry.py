# kernel_type: scan
# complexity: high
# outcome: works
"""Cumulative sum and product of long rows in chunks; the carry is the last total so far."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cumsum_rows(src, dst, n, REVERSE: tl.constexpr, CHUNK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    carry = 0.0
    for first in range(0, n, CHUNK):
        i = first + tl.arange(0, CHUNK)
        live = i < n
        at = row + (n - 1 - i if REVERSE else i)
        v = tl.load(src + at, mask=live, other=0.0).to(tl.float32)
        tl.store(dst + at, tl.cumsum(v, axis=0) + carry, mask=live)
        carry += tl.sum(v, axis=0)


@triton.jit
def cumprod_cols(src, dst, T, D, BT: tl.constexpr, BD: tl.constexpr):
    d = tl.program_id(0) * BD + tl.arange(0, BD)
    t = tl.arange(0, BT)
    x = tl.load(src + t[:, None] * D + d[None, :], mask=(t[:, None] < T) & (d[None, :] < D), other=1.0)
    y = tl.cumprod(x, 0)
    tl.store(dst + t[:, None] * D + d[None, :], y, mask=(t[:, None] < T) & (d[None, :] < D))


class ModelNew(nn.Module):
    def __init__(self, reverse):
        super().__init__()
        self.reverse = reverse

    def forward(self, x, decay):
        x, decay = x.contiguous(), decay.contiguous()
        sums = torch.empty_like(x)
        cumsum_rows[(x.shape[0],)](x, sums, x.shape[1], REVERSE=self.reverse, CHUNK=512)
        T, D = decay.shape
        products = torch.empty_like(decay)
        cumprod_cols[(triton.cdiv(D, 32),)](decay, products, T, D, BT=triton.next_power_of_2(T), BD=32)
        return sums, products


def get_init_inputs():
    return [True]


def get_inputs():
    return [torch.randn(4, 2000), torch.rand(30, 50)]
