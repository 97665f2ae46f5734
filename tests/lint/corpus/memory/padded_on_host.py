# kernel_type: normalization
# complexity: low
# outcome: works
# near: missing-mask, missing-other, int32-overflow
"""L2 normalization of rows. The host pads rows with zeros to a whole tile, so the kernel reads full tiles."""
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def unit_rows(X, Y, eps, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, WIDTH)
    x = tl.load(X + row * WIDTH + cols)
    norm = tl.sqrt(tl.sum(x * x, 0))
    tl.store(Y + row * WIDTH + cols, x / tl.maximum(norm, eps))


class ModelNew(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        rows, n = x.shape
        width = triton.next_power_of_2(n)
        padded = F.pad(x, (0, width - n)).contiguous()
        y = torch.empty_like(padded)
        unit_rows[(rows,)](padded, y, self.eps, WIDTH=width)
        return y[:, :n]


def get_init_inputs():
    return [1e-12]


def get_inputs():
    return [torch.randn(12, 75)]
