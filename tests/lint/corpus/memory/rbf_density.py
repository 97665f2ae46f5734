# kernel_type: reduction
# complexity: medium
# outcome: works
# near: unsafe-exp, missing-other
"""Kernel density: mean over samples of exp(-|x - c|^2 / 2h), and the VAE divergence that goes with it."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def density(points, centers, out, n, m, width, BLOCK: tl.constexpr, STEP: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(points + i, mask=i < n, other=0.0)
    total = tl.zeros((BLOCK,), tl.float32)
    for s in range(0, m, STEP):
        j = s + tl.arange(0, STEP)
        c = tl.load(centers + j, mask=j < m, other=0.0)
        gap = x[:, None] - c[None, :]
        near = tl.exp(-gap * gap / (2.0 * width))
        total += tl.sum(tl.where((j < m)[None, :], near, 0.0), axis=1)
    tl.store(out + i, total / m, mask=i < n)


@triton.jit
def divergence(mu, logvar, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    keep = j < n
    u = tl.load(mu + row * n + j, mask=keep, other=0.0)
    lv = tl.load(logvar + row * n + j, mask=keep, other=0.0)
    terms = 1.0 + lv - u * u - tl.exp(lv)
    tl.store(out + row, -0.5 * tl.sum(tl.where(keep, terms, 0.0), axis=0))


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width

    def forward(self, points, centers, mu, logvar):
        points, centers, mu, logvar = map(torch.Tensor.contiguous, (points, centers, mu, logvar))
        n, m = points.numel(), centers.numel()
        out = torch.empty_like(points)
        density[(triton.cdiv(n, 128),)](points, centers, out, n, m, self.width, BLOCK=128, STEP=32)
        rows, k = mu.shape
        kl = torch.empty(rows, device=mu.device, dtype=mu.dtype)
        divergence[(rows,)](mu, logvar, kl, k, BLOCK=triton.next_power_of_2(k))
        return out, kl


def get_init_inputs():
    return [0.5]


def get_inputs():
    return [torch.randn(300), torch.randn(70), torch.randn(4, 20), torch.randn(4, 20)]
