# kernel_type: scan
# complexity: high
# outcome: works
# near: missing-mask, missing-other
"""Prefix sum in one pass: each block waits for the total of the block before it, and hands its own on by plain memory."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def chained_scan(x, y, totals, flags, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    local = tl.cumsum(v, axis=0)
    before = 0.0
    if pid > 0:
        while tl.load(flags + pid - 1) == 0:  #! atomic-order
            pass
        before = tl.load(totals + pid - 1)
    tl.store(totals + pid, before + tl.sum(v, axis=0))
    tl.store(flags + pid, 1)  #! atomic-order
    tl.store(y + i, local + before, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        n = x.numel()
        blocks = triton.cdiv(n, 1024)
        y = torch.empty_like(x)
        totals = torch.zeros(blocks, device=x.device, dtype=torch.float32)
        flags = torch.zeros(blocks, device=x.device, dtype=torch.int32)
        chained_scan[(blocks,)](x, y, totals, flags, n, BLOCK=1024)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(5000)]
