# kernel_type: convolution
# complexity: medium
# outcome: works
# near: direct-convolution, scalar-vector-loop
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def causal_depthwise(x_ptr, w_ptr, b_ptr, y_ptr, length, dim, WIDTH: tl.constexpr, BT: tl.constexpr, BD: tl.constexpr):
    """y[t, d] = silu(b[d] + sum_k w[d, k] * x[t + k - WIDTH + 1, d]): each channel has its own filter."""
    seq = tl.program_id(2)
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    d = tl.program_id(1) * BD + tl.arange(0, BD)
    ok = d < dim
    acc = tl.zeros((BT, BD), dtype=tl.float32) + tl.load(b_ptr + d, mask=ok, other=0.0)[None, :]
    for k in tl.static_range(WIDTH):
        src = t + k - (WIDTH - 1)
        x = tl.load(x_ptr + (seq * length + src)[:, None] * dim + d[None, :],
                    mask=((src >= 0) & (src < length))[:, None] & ok[None, :], other=0.0)
        w = tl.load(w_ptr + d * WIDTH + k, mask=ok, other=0.0)
        acc += x * w[None, :]
    acc = acc * tl.sigmoid(acc)
    tl.store(y_ptr + (seq * length + t)[:, None] * dim + d[None, :], acc, mask=(t < length)[:, None] & ok[None, :])


class ModelNew(nn.Module):
    def __init__(self, dim, width):
        super().__init__()
        self.conv = nn.Conv1d(dim, dim, width, groups=dim, padding=width - 1)

    def forward(self, x):
        x = x.contiguous()
        n, length, dim = x.shape
        y = torch.empty_like(x)
        grid = (triton.cdiv(length, 32), triton.cdiv(dim, 32), n)
        causal_depthwise[grid](
            x, self.conv.weight, self.conv.bias, y, length, dim, WIDTH=self.conv.kernel_size[0], BT=32, BD=32
        )
        return y


def get_init_inputs():
    return [40, 4]


def get_inputs():
    return [torch.randn(2, 50, 40)]
