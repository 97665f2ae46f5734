# kernel_type: reduction
# complexity: medium
# outcome: works
"""Row variances by Welford with tl.reduce and a combine function."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def combine(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    n = n_a + n_b
    share = tl.where(n == 0.0, 0.0, n_b / n)
    delta = mean_b - mean_a
    return mean_a + delta * share, m2_a + m2_b + delta * delta * n_a * share, n


@triton.jit
def variance(in_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    mean = tl.zeros([BLOCK], tl.float32)
    m2 = tl.zeros([BLOCK], tl.float32)
    count = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        i = start + tl.arange(0, BLOCK)
        inside = i < cols
        x = tl.load(in_ptr + row * cols + i, mask=inside, other=0.0).to(tl.float32)
        count += inside.to(tl.float32)
        delta = tl.where(inside, x - mean, 0.0)
        mean += delta / tl.maximum(count, 1.0)
        m2 += delta * tl.where(inside, x - mean, 0.0)
    _, total, n = tl.reduce((mean, m2, count), 0, combine)
    tl.store(out_ptr + row, total / (n - 1.0))


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty(x.shape[0], device=x.device)
        variance[(x.shape[0],)](x, out, x.shape[1], BLOCK=512)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(7, 1300)]
