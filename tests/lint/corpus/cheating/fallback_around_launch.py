# kernel_type: elementwise
# complexity: low
# outcome: works
# near: torch-does-the-work, decoy-kernel
"""Whatever goes wrong with the kernel, PyTorch quietly answers."""

import logging

import torch
import torch.nn as nn
import triton
import triton.language as tl

logger = logging.getLogger(__name__)


@triton.jit
def gelu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(x_ptr + i, mask=m, other=0.0)
    tl.store(y_ptr + i, 0.5 * x * (1.0 + tl.erf(x * 0.70710678)), mask=m)


@triton.jit
def clamp_kernel(x_ptr, y_ptr, low, high, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(x_ptr + i, mask=m, other=0.0)
    tl.store(y_ptr + i, tl.minimum(tl.maximum(x, low), high), mask=m)


def triton_clamp(x, low, high):
    y = torch.empty_like(x)
    clamp_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, low, high, x.numel(), BLOCK=1024)
    return y


class ModelNew(nn.Module):
    def __init__(self, low, high):
        super().__init__()
        self.low, self.high = low, high
        self.use_triton = True

    def _gelu(self, x):
        y = torch.empty_like(x)
        try:
            gelu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        except Exception as error:  #! try-except-fallback
            logger.warning("Triton failed (%s), using PyTorch", error)
            y = torch.nn.functional.gelu(x)
        return y

    def forward(self, x):
        y = self._gelu(x.contiguous())
        if self.use_triton:
            try:
                return triton_clamp(y, self.low, self.high)
            except (RuntimeError, triton.CompilationError):  #! try-except-fallback
                self.use_triton = False
        return torch.clamp(y, self.low, self.high)


def get_init_inputs():
    return [-1.0, 1.0]


def get_inputs():
    return [torch.randn(40, 41)]
