# kernel_type: normalization
# complexity: low
# outcome: works
# near: output-not-written
"""residual + x is written back, then normalized by its root mean square; helper takes pointers."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mean_square(v, n):
    return tl.sum(v * v, axis=0) / n


@triton.jit
def add_rms_norm(x_ptr, residual_ptr, weight_ptr, out_ptr, n, eps, ADD_UNIT_OFFSET: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    i = tl.arange(0, BLOCK)
    mask = i < n
    v = tl.load(x_ptr + row + i, mask=mask, other=0.0) + tl.load(residual_ptr + row + i, mask=mask, other=0.0)
    tl.store(residual_ptr + row + i, v, mask=mask)
    scale = 1 / tl.sqrt(mean_square(v, n) + eps)
    w = tl.load(weight_ptr + i, mask=mask, other=0.0)
    if ADD_UNIT_OFFSET:
        w = w + 1.0
    tl.store(out_ptr + row + i, v * scale * w, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, dim, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(dim))
        self.eps = eps

    def forward(self, x, residual):
        x, residual = x.contiguous(), residual.clone()
        dim = x.shape[-1]
        out = torch.empty_like(x)
        add_rms_norm[(x.numel() // dim,)](
            x, residual, self.weight, out, dim, self.eps, ADD_UNIT_OFFSET=True, BLOCK=triton.next_power_of_2(dim)
        )
        return out, residual


def get_init_inputs():
    return [96, 1e-6]


def get_inputs():
    return [torch.randn(4, 6, 96), torch.randn(4, 6, 96)]
