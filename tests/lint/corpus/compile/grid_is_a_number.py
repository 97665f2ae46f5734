# kernel_type: elementwise
# complexity: low
# outcome: fails
"""The grid is the number of blocks itself, and once a quotient."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def hardswish_kernel(x_ptr, y_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = x * tl.minimum(tl.maximum(x + 3.0, 0.0), 6.0) / 6.0
    tl.store(y_ptr + offsets, y, mask=mask)


def hardswish(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    hardswish_kernel[triton.cdiv(n, 1024)](x, y, n, BLOCK_SIZE=1024)  #! grid-axis
    return y


def hardswish_again(x):
    y = torch.empty_like(x)
    n = x.numel()
    hardswish_kernel[(n / 1024,)](x, y, n, BLOCK_SIZE=1024)  #! grid-axis
    return y


class ModelNew(nn.Module):
    def forward(self, x):
        return hardswish_again(hardswish(x))


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(64, 64)]
