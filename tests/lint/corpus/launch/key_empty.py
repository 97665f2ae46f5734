# kernel_type: normalization
# complexity: medium
# outcome: works
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BLOCK": b}, num_warps=4) for b in [256, 512, 1024]],
    key=[],  #! autotune-key-missing
)
@triton.jit
def layer_norm(x_ptr, w_ptr, b_ptr, y_ptr, row_stride, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_row = x_ptr + row * row_stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_row + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
        total += x
        squares += x * x
    mean = tl.sum(total) / n_cols
    rstd = 1.0 / tl.sqrt(tl.sum(squares) / n_cols - mean * mean + eps)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        keep = cols < n_cols
        x = tl.load(x_row + cols, mask=keep, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + cols, mask=keep)
        b = tl.load(b_ptr + cols, mask=keep)
        tl.store(y_ptr + row * row_stride + cols, (x - mean) * rstd * w + b, mask=keep)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        x2 = x.reshape(-1, x.shape[-1])
        y = torch.empty_like(x2)
        layer_norm[(x2.shape[0],)](x2, self.weight, self.bias, y, x2.stride(0), x2.shape[1], 1e-5)
        return y.view(x.shape)


def get_init_inputs():
    return [700]


def get_inputs():
    return [torch.randn(4, 3, 700)]
