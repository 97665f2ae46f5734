# kernel_type: persistent_recurrent
# complexity: persistent
# outcome: works
# near: grid-batch-only, time-loop-on-host
import itertools

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(  #! autotune-on-persistent
    configs=[
        triton.Config({"BLOCK_C": block}, num_warps=warps)
        for block, warps in itertools.product([32, 64, 128], [1, 2, 4])
    ],
    key=["channels"],
)
@triton.jit
def diagonal_ssm(
    inp, a_re, a_im, b_re, b_im, c_re, c_im, out,
    timesteps, channels,
    BLOCK_C: tl.constexpr,
):
    """A complex diagonal state per channel: s = a * s + b * u, y = Re(c * s)."""
    sample = tl.program_id(1)
    c = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    m = c < channels
    ar, ai = tl.load(a_re + c, mask=m, other=0.0), tl.load(a_im + c, mask=m, other=0.0)
    br, bi = tl.load(b_re + c, mask=m, other=0.0), tl.load(b_im + c, mask=m, other=0.0)
    cr, ci = tl.load(c_re + c, mask=m, other=0.0), tl.load(c_im + c, mask=m, other=0.0)
    sr = tl.zeros((BLOCK_C,), tl.float32)
    si = tl.zeros((BLOCK_C,), tl.float32)
    for t in range(timesteps):
        at = (sample * timesteps + t) * channels + c
        u = tl.load(inp + at, mask=m, other=0.0)
        new_sr = ar * sr - ai * si + br * u
        si = ar * si + ai * sr + bi * u
        sr = new_sr
        tl.store(out + at, cr * sr - ci * si, mask=m)


class DiagonalSSM(torch.autograd.Function):
    @staticmethod
    def forward(ctx, u, a_re, a_im, b_re, b_im, c_re, c_im):
        u = u.contiguous()
        n, t, ch = u.shape
        y = torch.empty_like(u)
        diagonal_ssm[lambda META: (triton.cdiv(ch, META["BLOCK_C"]), n)](
            u, a_re, a_im, b_re, b_im, c_re, c_im, y, t, ch
        )
        return y


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        for name in ("a_re", "a_im", "b_re", "b_im", "c_re", "c_im"):
            self.register_parameter(name, nn.Parameter(torch.randn(channels) * 0.1))

    def forward(self, u):
        return DiagonalSSM.apply(u, self.a_re, self.a_im, self.b_re, self.b_im, self.c_re, self.c_im)


def get_init_inputs():
    return [70]


def get_inputs():
    return [torch.randn(2, 11, 70)]
