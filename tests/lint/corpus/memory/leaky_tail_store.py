# kernel_type: elementwise
# complexity: low
# outcome: works
# near: missing-other, contiguity-assumed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def leaky(p0, p1, total, slope, WIDTH: tl.constexpr):
    first = tl.program_id(axis=0) * WIDTH
    where = first + tl.arange(0, WIDTH)
    inside = where < total
    v = tl.load(p0 + where, mask=inside)
    tl.store(p1 + where, tl.where(v > 0, v, v * slope))  #! missing-mask


class ModelNew(nn.Module):
    """Leaky ReLU over a tensor of any shape."""

    def __init__(self, slope):
        super().__init__()
        self.slope = slope

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        total = x.numel()
        leaky[(triton.cdiv(total, 1024),)](x, y, total, self.slope, WIDTH=1024)
        return y


def get_init_inputs():
    return [0.1]


def get_inputs():
    return [torch.randn(7, 301)]
