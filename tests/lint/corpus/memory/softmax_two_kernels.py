# kernel_type: normalization
# complexity: medium
# outcome: works
# near: unsafe-exp, missing-other, missing-mask
"""Softmax of long rows in two launches: the first leaves each row's log of summed exponentials, the second uses it."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_lse(x, lse, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    peak = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for s in range(0, n, BLOCK):
        j = s + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + j, mask=j < n, other=-1e38)
        bigger = tl.maximum(peak, v)
        total = total * tl.exp(peak - bigger) + tl.exp(v - bigger)
        peak = bigger
    top = tl.max(peak, axis=0)
    tl.store(lse + row, top + tl.log(tl.sum(total * tl.exp(peak - top), axis=0)))


@triton.jit
def apply_lse(x, lse, y, checks, n, BLOCK: tl.constexpr):
    row = tl.program_id(1).to(tl.int64)
    j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = j < n
    v = tl.load(x + row * n + j, mask=keep, other=-float("inf"))
    p = tl.exp(v - tl.load(lse + row))
    tl.store(y + row * n + j, p, mask=keep)
    # what each block contributes to the total of one
    tl.store(checks + row * tl.num_programs(0) + tl.program_id(0), tl.sum(p, axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, n = x.shape
        blocks = triton.cdiv(n, 512)
        lse = torch.empty(rows, device=x.device, dtype=torch.float32)
        checks = torch.empty(rows, blocks, device=x.device, dtype=torch.float32)
        y = torch.empty_like(x)
        row_lse[(rows,)](x, lse, n, BLOCK=512)
        apply_lse[(blocks, rows)](x, lse, y, checks, n, BLOCK=512)
        return y, checks


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(3, 1500)]
