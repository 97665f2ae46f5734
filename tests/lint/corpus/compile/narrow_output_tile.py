# kernel_type: gemm
# complexity: medium
# outcome: works
"""Four output rows per tile: recent releases pad them, older ones refuse."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def decode_linear(x, w, y, n, k, ROWS: tl.constexpr = 4, COLS: tl.constexpr = 64, DEPTH: tl.constexpr = 32):
    rows = tl.arange(0, ROWS)
    cols = tl.program_id(0) * COLS + tl.arange(0, COLS)
    acc = tl.zeros((ROWS, COLS), dtype=tl.float32)
    for start in range(0, k, DEPTH):
        depth = start + tl.arange(0, DEPTH)
        inside = depth < k
        left = tl.load(x + rows[:, None] * k + depth[None, :], mask=inside[None, :], other=0.0)
        right = tl.load(w + cols[None, :] * k + depth[:, None], mask=inside[:, None] & (cols < n)[None, :], other=0.0)
        acc = tl.dot(left.to(tl.bfloat16), right.to(tl.bfloat16), acc)  #! dot-tile-too-small
    tl.store(y + rows[:, None] * n + cols[None, :], acc, mask=(cols < n)[None, :])


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out_features, in_features))

    def forward(self, x):
        assert x.shape[0] == 4 and x.is_contiguous()
        n, k = self.weight.shape
        y = torch.empty(4, n, device=x.device, dtype=torch.float32)
        decode_linear[(triton.cdiv(n, 64),)](x, self.weight, y, n, k)
        return y


def get_init_inputs():
    return [100, 130]


def get_inputs():
    return [torch.randn(4, 100)]
