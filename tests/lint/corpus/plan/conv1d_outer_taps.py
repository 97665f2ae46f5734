# kernel_type: convolution
# complexity: medium
# outcome: works
# near: no-tensor-core, scalar-vector-loop
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def dilated_conv1d(
    sig, taps, out,
    n_in, n_out, length, out_length, dilation,
    K: tl.constexpr, BO: tl.constexpr, BL: tl.constexpr,
):
    """A tile of output channels times a tile of positions; every tap of every channel adds an outer product."""
    item = tl.program_id(2)
    o = tl.program_id(1) * BO + tl.arange(0, BO)
    pos = tl.program_id(0) * BL + tl.arange(0, BL)
    tile = tl.zeros((BO, BL), dtype=tl.float32)
    for tap in tl.static_range(K):  #! direct-convolution
        p = pos + tap * dilation
        for c in range(n_in):
            v = tl.load(sig + (item * n_in + c) * length + p, mask=p < length, other=0.0)
            g = tl.load(taps + (o * n_in + c) * K + tap, mask=o < n_out, other=0.0)
            tile += g[:, None] * v[None, :]
    where = (item * n_out + o)[:, None] * out_length + pos[None, :]
    tl.store(out + where, tile, mask=(o < n_out)[:, None] & (pos < out_length)[None, :])


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out, k, dilation):
        super().__init__()
        self.dilation = dilation
        self.weight = nn.Parameter(torch.randn(n_out, n_in, k))

    def forward(self, x):
        items, n_in, length = x.shape
        n_out, _, k = self.weight.shape
        out_length = length - self.dilation * (k - 1)
        y = torch.empty(items, n_out, out_length, device=x.device, dtype=x.dtype)
        dilated_conv1d[(triton.cdiv(out_length, 64), triton.cdiv(n_out, 16), items)](
            x.contiguous(), self.weight, y, n_in, n_out, length, out_length, self.dilation, K=k, BO=16, BL=64
        )
        return y


def get_init_inputs():
    return [4, 20, 3, 2]


def get_inputs():
    return [torch.randn(2, 4, 100)]
