# kernel_type: elementwise
# complexity: low
# outcome: works
# near: missing-mask, stride-reuse
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def swap_last_two(inp, out, R, C, T0: tl.constexpr, T1: tl.constexpr):
    batch = tl.program_id(2)
    r = tl.program_id(0) * T0 + tl.arange(0, T0)
    c = tl.program_id(1) * T1 + tl.arange(0, T1)
    size = R * C
    tile = tl.load(inp + batch * size + r[:, None] * C + c[None, :],  #! int32-overflow
                   mask=(r[:, None] < R) & (c[None, :] < C))
    tl.store(out + batch * size + c[:, None] * R + r[None, :], tl.trans(tile),
             mask=(c[:, None] < C) & (r[None, :] < R))


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        B, R, C = x.shape
        out = torch.empty((B, C, R), device=x.device, dtype=x.dtype)
        grid = (triton.cdiv(R, 32), triton.cdiv(C, 32), B)
        swap_last_two[grid](x, out, R, C, T0=32, T1=32)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(3, 50, 70)]
