# kernel_type: reduction
# complexity: low
# outcome: works
# near: atomic-order, missing-mask, missing-other, output-not-written
"""Histogram with integer counts: the order of integer additions does not show in the result."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def count_bins(x, counts, n, low, inv_width, bins, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = i < n
    v = tl.load(x + i, mask=keep, other=0.0)
    bin_index = ((v - low) * inv_width).to(tl.int32)
    bin_index = tl.minimum(tl.maximum(bin_index, 0), bins - 1)
    tl.atomic_add(counts + bin_index, keep.to(tl.int32), mask=keep)


class ModelNew(nn.Module):
    def __init__(self, bins, low, high):
        super().__init__()
        self.bins, self.low, self.high = bins, low, high

    def forward(self, x):
        x = x.contiguous()
        counts = torch.zeros(self.bins, dtype=torch.int32, device=x.device)
        n = x.numel()
        width = (self.high - self.low) / self.bins
        count_bins[(triton.cdiv(n, 512),)](x, counts, n, self.low, 1.0 / width, self.bins, BLOCK=512)
        return counts


def get_init_inputs():
    return [32, -3.0, 3.0]


def get_inputs():
    return [torch.randn(3000)]
