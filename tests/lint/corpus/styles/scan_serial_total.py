# kernel_type: scan
# complexity: high
# outcome: works
"""Running sum along time for [B, T, D]: the loop is serial, features run in parallel, every step is stored."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def running_sum(u, o, T, D, BD: tl.constexpr):
    b = tl.program_id(0)
    d = tl.program_id(1) * BD + tl.arange(0, BD)
    live = d < D
    total = tl.zeros((BD,), tl.float32)
    u += b * T * D
    o += b * T * D
    for step in range(T):
        total += tl.load(u + step * D + d, mask=live, other=0.0)
        tl.store(o + step * D + d, total, mask=live)


class ModelNew(nn.Module):
    def forward(self, u):
        u = u.contiguous()
        B, T, D = u.shape
        o = torch.empty_like(u)
        running_sum[(B, triton.cdiv(D, 64))](u, o, T, D, BD=64)
        return o


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 60, 100)]
