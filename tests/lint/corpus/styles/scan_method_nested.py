# kernel_type: scan
# complexity: high
# outcome: works
"""Exclusive prefix sums of integer counts by the tensor method, inside a nested launcher class."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


class _Prefix:
    def __init__(self, block):
        self.block = block

    @staticmethod
    @triton.jit
    def kernel(counts, starts, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        c = tl.load(counts + i, mask=i < n, other=0)
        tl.store(starts + i, c.cumsum(0) - c, mask=i < n)

    def __call__(self, counts):
        n = counts.numel()
        assert n <= self.block
        starts = torch.empty_like(counts)
        self.kernel[(1,)](counts, starts, n, BLOCK=self.block)
        return starts


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.prefix = _Prefix(1024)

    def forward(self, counts):
        return self.prefix(counts.contiguous())


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randint(0, 9, (700,), dtype=torch.int32)]
