# kernel_type: gemm
# complexity: medium
# outcome: works
# near: scalar-vector-loop
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def rank_one(tile, column, row):
    return tile + tl.expand_dims(column, 1) * tl.expand_dims(row, 0)  #! no-tensor-core


@triton.jit
def gelu(x):
    return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))


@triton.jit
def linear_gelu(x_ptr, w_ptr, b_ptr, y_ptr, tokens, d_in, d_out, BLOCK_T: tl.constexpr, BLOCK_O: tl.constexpr):
    t = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    o = tl.program_id(1) * BLOCK_O + tl.arange(0, BLOCK_O)
    acc = tl.zeros((BLOCK_T, BLOCK_O), tl.float32)
    i = 0
    while i < d_in:
        x = tl.load(x_ptr + t * d_in + i, mask=t < tokens, other=0.0)
        w = tl.load(w_ptr + o * d_in + i, mask=o < d_out, other=0.0)
        acc = rank_one(acc, x, w)
        i += 1
    acc = gelu(acc + tl.load(b_ptr + o, mask=o < d_out, other=0.0)[None, :])
    tl.store(y_ptr + t[:, None] * d_out + o[None, :], acc, mask=(t < tokens)[:, None] & (o < d_out)[None, :])


class LinearGelu(nn.Linear):
    def forward(self, x):
        flat = x.reshape(-1, self.in_features).contiguous()
        y = torch.empty(flat.shape[0], self.out_features, device=x.device, dtype=x.dtype)
        grid = (triton.cdiv(flat.shape[0], 32), triton.cdiv(self.out_features, 32))
        linear_gelu[grid](
            flat, self.weight, self.bias, y, flat.shape[0], self.in_features, self.out_features,
            BLOCK_T=32, BLOCK_O=32,
        )
        return y.view(*x.shape[:-1], self.out_features)


class ModelNew(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.fc = LinearGelu(d_in, d_out)

    def forward(self, x):
        return F.relu(self.fc(x))


def get_init_inputs():
    return [20, 36]


def get_inputs():
    return [torch.randn(3, 10, 20)]
