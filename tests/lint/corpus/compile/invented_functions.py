# kernel_type: elementwise
# complexity: low
# outcome: fails
"""GELU (tanh form) and Mish with functions Triton does not have."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gelu_kernel(x_ptr, y_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    inner = 0.7978845608 * (x + 0.044715 * x * x * x)
    tl.store(y_ptr + offsets, 0.5 * x * (1.0 + tl.tanh(inner)), mask=mask)  #! unknown-language-function


@triton.jit
def mish_kernel(x_ptr, y_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    soft = tl.log1p(tl.exp(x))  #! unknown-language-function
    tl.store(y_ptr + offsets, x * tl.math.tanh(soft), mask=mask)  #! unknown-language-function


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        n = x.numel()
        a, b = torch.empty_like(x), torch.empty_like(x)
        grid = (triton.cdiv(n, 1024),)
        gelu_kernel[grid](x, a, n, BLOCK_SIZE=1024)
        mish_kernel[grid](a, b, n, BLOCK_SIZE=1024)
        return b


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(50, 60)]
