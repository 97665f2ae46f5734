# kernel_type: elementwise
# complexity: low
# outcome: works
# near: unknown-language-function, undefined-name, launch-arguments
"""Star imports and a function looked up by release: names that cannot be followed are not complained about."""
import torch
from torch import nn
import triton
import triton.language as tl
from triton.language import *

if hasattr(tl, "tanh"):
    tanh = tl.tanh
else:
    from triton.language.extra.libdevice import tanh


@triton.jit
def glu(x_ptr, y_ptr, half, total, BLOCK: constexpr):
    i = program_id(0) * BLOCK + arange(0, BLOCK)
    row, col = i // half, i % half
    a = load(x_ptr + row * 2 * half + col, mask=i < total, other=0.0)
    b = load(x_ptr + row * 2 * half + half + col, mask=i < total, other=0.0)
    store(y_ptr + i, tanh(a) * sigmoid(b), mask=i < total)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        half = x.shape[-1] // 2
        y = x.new_empty(x.shape[0], half)
        glu[(triton.cdiv(y.numel(), 256),)](x, y, half, y.numel(), BLOCK=256)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(12, 34)]
