# kernel_type: reduction
# complexity: low
# outcome: works
# near: missing-mask, missing-other, unsafe-exp
"""Per row: sum, largest magnitude and logsumexp. Masked lanes are filled afterwards, each for its reduction."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def fill(values, keep, number):
    return tl.where(keep, values, number)


@triton.jit
def row_stats(a, sums, peaks, lses, n, pitch, BLK: tl.constexpr):
    r = tl.program_id(0)
    j = tl.arange(0, BLK)
    keep = j < n
    raw = tl.load(a + r * pitch + j, keep)
    v = raw.to(tl.float32)
    tl.store(sums + r, tl.sum(tl.where(keep, v, 0.0), axis=0))
    tl.store(peaks + r, tl.max(tl.abs(tl.where(keep, v, 0.0)), axis=0))
    filled = fill(v, keep, -1.0e30)
    top = tl.max(filled, axis=0)
    tl.store(lses + r, top + tl.log(tl.sum(tl.exp(filled - top), axis=0)))


class ModelNew(nn.Module):
    def forward(self, a):
        a = a.contiguous()
        rows, n = a.shape
        sums, peaks, lses = (torch.empty(rows, device=a.device, dtype=torch.float32) for _ in range(3))
        row_stats[(rows,)](a, sums, peaks, lses, n, a.stride(0), BLK=triton.next_power_of_2(n))
        return sums, peaks, lses


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(6, 90)]
