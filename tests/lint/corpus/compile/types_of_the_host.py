# kernel_type: elementwise
# complexity: low
# outcome: fails
"""torch's types and shapes do not exist in a kernel, and the helper is called with one argument too few."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def squash(v, low, high):
    return tl.minimum(tl.maximum(v, low), high)


@triton.jit
def clamp_kernel(x_ptr, y_ptr, low, high, OUT: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = x_ptr.shape[0]  #! unknown-language-function
    v = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    v = squash(v, low)  #! launch-arguments
    e = tl.exp(v.to(tl.float16))  #! unknown-language-function
    tl.store(y_ptr + offs, (v + e * 0.0).to(OUT), mask=offs < n)


class ModelNew(nn.Module):
    def __init__(self, low, high):
        super().__init__()
        self.low, self.high = low, high

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        grid = (triton.cdiv(x.numel(), 256),)
        clamp_kernel[grid](x, y, self.low, self.high, OUT=x.dtype, BLOCK=256)  #! launch-arguments
        return y


def get_init_inputs():
    return [-1.0, 1.0]


def get_inputs():
    return [torch.randn(1000)]
