# kernel_type: gemm
# complexity: medium
# outcome: fails
"""Spectral norm by power iteration of one small matrix; leaves the kernel when converged."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def power_iteration(w_ptr, out_ptr, rows, cols, tol, R: tl.constexpr, C: tl.constexpr, STEPS: tl.constexpr):
    r = tl.arange(0, R)
    c = tl.arange(0, C)
    inside = (r[:, None] < rows) & (c[None, :] < cols)
    w = tl.load(w_ptr + r[:, None] * cols + c[None, :], mask=inside, other=0.0)
    u = tl.where(c < cols, 1.0, 0.0)
    sigma = 0.0
    for _ in range(STEPS):
        v = tl.sum(w * u[None, :], axis=1)
        u_new = tl.sum(w * v[:, None], axis=0)
        norm = tl.sqrt(tl.sum(u_new * u_new, axis=0))
        u = u_new / (norm + 1e-12)
        change = tl.abs(tl.sqrt(norm) - sigma)
        sigma = tl.sqrt(norm)
        if change < tol:
            tl.store(out_ptr, sigma)
            return  #! return-in-loop
    tl.store(out_ptr, sigma)


class ModelNew(nn.Module):
    def __init__(self, tol=1e-5):
        super().__init__()
        self.tol = tol

    def forward(self, w):
        w = w.contiguous()
        rows, cols = w.shape
        out = torch.empty((), device=w.device, dtype=torch.float32)
        power_iteration[(1,)](w, out, rows, cols, self.tol, R=32, C=64, STEPS=20)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(24, 50)]
