# kernel_type: convolution
# complexity: medium
# outcome: works
"""Causal depthwise convolution: the last inputs wait in registers and move on by one in every step."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def causal_conv_update(x, w, bias, y, dim, seqlen, sx_b, sx_d, sx_t, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    seq = tl.program_id(0)
    feats = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    ok = feats < dim
    taps = w + feats * WIDTH
    w0 = tl.load(taps + 0, ok, 0.0)
    w1 = tl.load(taps + 1, ok, 0.0)
    w2 = tl.load(taps + 2, ok, 0.0)
    if WIDTH == 4:
        w3 = tl.load(taps + 3, ok, 0.0)
    start = tl.load(bias + feats, ok, 0.0).to(tl.float32)
    a = tl.zeros((BLOCK,), tl.float32)
    b = tl.zeros((BLOCK,), tl.float32)
    c = tl.zeros((BLOCK,), tl.float32)
    row = x + seq * sx_b + feats * sx_d
    out = y + seq * sx_b + feats * sx_d
    for t in range(seqlen):
        acc = start
        wt = w0
        xt = a
        for j in tl.static_range(WIDTH):
            if WIDTH == 3:
                if j == 1:
                    wt = w1
                    xt = b
                elif j == 2:
                    wt = w2
                    xt = tl.load(row + t * sx_t, ok, 0.0)
            else:
                if j == 1:
                    wt = w1
                    xt = b
                elif j == 2:
                    wt = w2
                    xt = c
                elif j == 3:
                    wt = w3
                    xt = tl.load(row + t * sx_t, ok, 0.0)
            acc += xt * wt
        if WIDTH == 3:
            a = b
            b = xt
        else:
            a = b
            b = c
            c = xt
        tl.store(out + t * sx_t, acc / (1.0 + tl.exp(-acc)), ok)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(96, 4))
        self.bias = nn.Parameter(torch.randn(96))

    def forward(self, x):
        batch, dim, seqlen = x.shape
        y = torch.empty_like(x)
        causal_conv_update[(batch, triton.cdiv(dim, 64))](
            x, self.weight, self.bias, y, dim, seqlen, x.stride(0), x.stride(1), x.stride(2), WIDTH=4, BLOCK=64
        )
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 96, 40)]
