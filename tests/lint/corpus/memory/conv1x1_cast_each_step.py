# kernel_type: gemm
# complexity: medium
# outcome: works
# near: tf32-implicit, missing-mask
"""Pointwise (1x1) convolution as a product of weights [O, C] and pixels [C, HW], one image per grid plane."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pointwise(w_ptr, x_ptr, y_ptr, O, C, P, BO: tl.constexpr, BP: tl.constexpr, BC: tl.constexpr):
    image = tl.program_id(2).to(tl.int64)
    o = tl.program_id(0) * BO + tl.arange(0, BO)
    p = tl.program_id(1) * BP + tl.arange(0, BP)
    acc = tl.zeros((BO, BP), dtype=tl.float32).to(tl.float16)  #! low-precision-accumulator
    for c0 in range(0, C, BC):
        c = c0 + tl.arange(0, BC)
        w = tl.load(w_ptr + o[:, None] * C + c[None, :], mask=(o < O)[:, None] & (c < C)[None, :], other=0.0)
        x = tl.load(x_ptr + image * C * P + c[:, None] * P + p[None, :],
                    mask=(c < C)[:, None] & (p < P)[None, :], other=0.0)
        part = tl.dot(w.to(tl.float16), x.to(tl.float16))
        acc = (acc + part).to(tl.float16)
    tl.store(y_ptr + image * O * P + o[:, None] * P + p[None, :], acc.to(tl.float32),
             mask=(o < O)[:, None] & (p < P)[None, :])


class ModelNew(nn.Module):
    def __init__(self, channels, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, channels, 1, 1) / channels**0.5)

    def forward(self, x):
        x = x.contiguous()
        n, c, h, w = x.shape
        o = self.weight.shape[0]
        y = torch.empty((n, o, h, w), device=x.device, dtype=torch.float32)
        grid = (triton.cdiv(o, 32), triton.cdiv(h * w, 64), n)
        pointwise[grid](self.weight, x, y, o, c, h * w, BO=32, BP=64, BC=32)
        return y


def get_init_inputs():
    return [48, 40]


def get_inputs():
    return [torch.randn(2, 48, 10, 11)]
