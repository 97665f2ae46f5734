# kernel_type: elementwise
# complexity: low
# outcome: fails
"""Imports a function that no release offers there, and misspells another."""
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.math import tanh  #! unknown-language-function


@triton.jit
def glu_kernel(x_ptr, y_ptr, half, total, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, col = i // half, i % half
    a = tl.load(x_ptr + row * 2 * half + col, mask=i < total, other=0.0)
    b = tl.load(x_ptr + row * 2 * half + half + col, mask=i < total, other=0.0)
    tl.store(y_ptr + i, tanh(a) * tl.sigmod(b), mask=i < total)  #! unknown-language-function, unknown-language-function


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        half = x.shape[-1] // 2
        y = x.new_empty(*x.shape[:-1], half)
        glu_kernel[(triton.cdiv(y.numel(), 512),)](x, y, half, y.numel(), BLOCK=512)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(12, 34)]
