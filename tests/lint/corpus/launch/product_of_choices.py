# kernel_type: reduction
# complexity: low
# outcome: works
"""Two search spaces made by nested loops and by a product, both far too large for what they tune."""
from itertools import product

import torch
import torch.nn as nn
import triton
import triton.language as tl

BLOCKS = [1, 2, 4, 8, 16, 32]
WARPS = (1, 2, 4, 8)

_space = []
for rows in BLOCKS:
    for warps in WARPS:
        for stages in range(1, 4):
            _space.append(triton.Config({"ROWS": rows}, num_warps=warps, num_stages=stages))


@triton.autotune(configs=_space, key=["n", "d"])  #! too-many-configs
@triton.jit
def row_mean(x, y, n, d, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, COLS)
    at = r[:, None] * d + c[None, :]
    v = tl.load(x + at, mask=(r[:, None] < n) & (c[None, :] < d), other=0.0)
    tl.store(y + r, tl.sum(v, 1) / d, mask=r < n)


@triton.autotune(  #! too-many-configs
    configs=[
        triton.Config(dict(B=b), num_warps=w, num_stages=s)
        for b, w, s in product([64, 128, 256, 512], WARPS, [1, 2, 3])
    ],
    key=["n"],
)
@triton.jit
def center(x, y, n, shift, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) - shift, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        n, d = x.shape
        x = x.contiguous()
        means = torch.empty(n, device=x.device)
        row_mean[lambda m: (triton.cdiv(n, m["ROWS"]),)](x, means, n, d, COLS=triton.next_power_of_2(d))
        out = torch.empty_like(means)
        center[lambda m: (triton.cdiv(n, m["B"]),)](means, out, n, 0.5)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(65, 40)]
