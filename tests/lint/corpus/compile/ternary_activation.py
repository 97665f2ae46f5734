# kernel_type: elementwise
# complexity: low
# outcome: fails
"""ELU with Python's conditional expression, and a loop that runs while any element is large."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def elu_kernel(src, dst, alpha, count, W: tl.constexpr):
    i = tl.program_id(0) * W + tl.arange(0, W)
    v = tl.load(src + i, mask=i < count, other=0.0)
    while tl.abs(v) > 100.0:  #! tensor-truth
        v = v * 0.5
    v = v if v > 0 else alpha * (tl.exp(v) - 1.0)  #! tensor-truth
    tl.store(dst + i, v, mask=i < count)


class ModelNew(nn.Module):
    def __init__(self, alpha):
        super().__init__()
        self.alpha = alpha

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        elu_kernel[(triton.cdiv(x.numel(), 256),)](x, out, self.alpha, x.numel(), W=256)
        return out


def get_init_inputs():
    return [1.0]


def get_inputs():
    return [torch.randn(17, 33)]
