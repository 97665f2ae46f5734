# kernel_type: elementwise
# complexity: low
# outcome: works
# near: missing-mask, missing-other, grid-coverage
"""Hard-swish. A jit function gives back index and mask together; masks go by position."""
import torch
import torch.nn as nn
import triton
from triton.language import arange, constexpr, load, maximum, minimum, program_id, store


@triton.jit
def my_slice(n, SIZE: constexpr):
    index = program_id(0) * SIZE + arange(0, SIZE)
    return index, index < n


@triton.jit
def hard_swish(src, dst, n, SIZE: constexpr):
    index, ok = my_slice(n, SIZE)
    x = load(src + index, ok)
    y = x * minimum(maximum(x + 3.0, 0.0), 6.0) / 6.0
    store(dst + index, y, ok)


class ModelNew(nn.Module):
    def forward(self, x):
        if not x.is_contiguous():
            x = x.contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        blocks = (n + 1023) // 1024
        hard_swish[(blocks,)](x, y, n, 1024)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(3, 17, 29)]
