# kernel_type: convolution
# complexity: medium
# outcome: works
# near: direct-convolution
"""Causal depthwise convolution over time with silu, [B, T, D] layout, width 4 unrolled; each channel its own filter."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def causal_conv(x, w, b, y, T, D, WIDTH: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr):
    i_d, i_t, i_b = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    o_d = i_d * BD + tl.arange(0, BD)
    o_t = i_t * BT + tl.arange(0, BT)
    m_d = o_d < D
    acc = tl.zeros((BT, BD), tl.float32)
    for i_w in tl.static_range(WIDTH):
        o_x = o_t + i_w - (WIDTH - 1)
        m_x = ((o_x >= 0) & (o_x < T))[:, None] & m_d[None, :]
        b_x = tl.load(x + (i_b * T + o_x[:, None]) * D + o_d[None, :], mask=m_x, other=0.0)
        b_w = tl.load(w + o_d * WIDTH + i_w, mask=m_d, other=0.0)
        acc += b_x * b_w[None, :]
    acc += tl.load(b + o_d, mask=m_d, other=0.0)[None, :]
    acc = acc * tl.sigmoid(acc)
    tl.store(y + (i_b * T + o_t[:, None]) * D + o_d[None, :], acc, mask=(o_t[:, None] < T) & m_d[None, :])


class ModelNew(nn.Module):
    def __init__(self, dim, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(dim, width))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        x = x.contiguous()
        B, T, D = x.shape
        y = torch.empty_like(x)
        grid = (triton.cdiv(D, 32), triton.cdiv(T, 64), B)
        causal_conv[grid](x, self.weight, self.bias, y, T, D, WIDTH=self.weight.shape[1], BT=64, BD=32)
        return y


def get_init_inputs():
    return [40, 4]


def get_inputs():
    return [torch.randn(2, 70, 40)]
