# kernel_type: elementwise
# complexity: low
# outcome: fails
"""A constexpr cannot be bound again: neither a parameter, nor in the second turn of an unrolled loop."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def unrolled_copy(src, dst, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    for part in tl.static_range(4):
        QUARTER: tl.constexpr = BLOCK // 4  #! constexpr-misuse
        offs = pid * BLOCK + part * QUARTER + tl.arange(0, QUARTER)
        tl.store(dst + offs, tl.load(src + offs, mask=offs < n) * 2.0, mask=offs < n)


@triton.jit
def negate(src, dst, n, BLOCK: tl.constexpr):
    BLOCK: tl.constexpr = 512  #! constexpr-misuse
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dst + offs, -tl.load(src + offs, mask=offs < n), mask=offs < n)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        n = x.numel()
        doubled, out = torch.empty_like(x), torch.empty_like(x)
        unrolled_copy[(triton.cdiv(n, 512),)](x, doubled, n, BLOCK=512)
        negate[(triton.cdiv(n, 512),)](doubled, out, n, BLOCK=512)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(1000)]
