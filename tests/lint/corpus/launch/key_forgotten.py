# kernel_type: reduction
# complexity: medium
# outcome: fails
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 512}, num_warps=4), triton.Config({"BLOCK": 2048}, num_warps=8)])  #! autotune-key-missing
@triton.jit
def row_max(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    best = tl.full((BLOCK,), float("-inf"), tl.float32)
    for first in range(0, n_cols, BLOCK):
        c = first + tl.arange(0, BLOCK)
        best = tl.maximum(best, tl.load(x_ptr + row * n_cols + c, mask=c < n_cols, other=float("-inf")))
    tl.store(out_ptr + row, tl.max(best, axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = x.new_empty(x.shape[0])
        row_max[(x.shape[0],)](x, out, x.shape[1])
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(9, 3000)]
