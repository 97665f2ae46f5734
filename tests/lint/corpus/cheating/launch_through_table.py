# kernel_type: elementwise
# complexity: low
# outcome: works
# near: no-triton-launch, decoy-kernel, side-stream, contiguity-assumed
"""Activation picked by name from a table of kernels, started inside an autograd.Function."""

import torch
import torch.nn as nn
import triton
from triton import language as L


@triton.jit
def relu_k(p_in, p_out, n, SIZE: L.constexpr):
    at = L.program_id(0) * SIZE + L.arange(0, SIZE)
    ok = at < n
    L.store(p_out + at, L.maximum(L.load(p_in + at, mask=ok, other=0.0), 0.0), mask=ok)


@triton.jit
def sigmoid_k(p_in, p_out, n, SIZE: L.constexpr):
    at = L.program_id(0) * SIZE + L.arange(0, SIZE)
    ok = at < n
    L.store(p_out + at, L.sigmoid(L.load(p_in + at, mask=ok, other=0.0)), mask=ok)


@triton.jit
def relu_grad_k(p_grad, p_in, p_out, n, SIZE: L.constexpr):
    at = L.program_id(0) * SIZE + L.arange(0, SIZE)
    ok = at < n
    g = L.load(p_grad + at, mask=ok, other=0.0)
    L.store(p_out + at, L.where(L.load(p_in + at, mask=ok, other=0.0) > 0, g, 0.0), mask=ok)


KERNELS = dict(relu=relu_k, sigmoid=sigmoid_k)


class Activation(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, name):
        x = x.contiguous()
        ctx.save_for_backward(x)
        result = torch.empty_like(x)
        start = KERNELS[name]
        start[(triton.cdiv(x.numel(), 256),)](x, result, x.numel(), SIZE=256)
        return result

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        out = torch.empty_like(x)
        relu_grad_k[(triton.cdiv(x.numel(), 256),)](grad.contiguous(), x, out, x.numel(), SIZE=256)
        return out, None


class ModelNew(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def forward(self, x):
        assert torch.cuda.current_stream() is not None
        return Activation.apply(x, self.name)


def get_init_inputs():
    return ["sigmoid"]


def get_inputs():
    return [torch.randn(1000)]
