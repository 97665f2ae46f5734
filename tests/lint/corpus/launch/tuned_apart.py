# kernel_type: reduction
# complexity: low
# outcome: works
# near: meta-parameter-twice, autotune-key-missing, too-many-configs, output-not-written
"""What the tuner sets and what the launch sets are different parameters; heuristics fill in a third kind."""
import itertools

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"ROWS": r}, num_warps=w)
        for r, w in itertools.product([1, 2, 4, 8, 16, 32, 64], [1, 2, 4, 8])
    ],
    key=["n_rows", "n_cols"],
)
@triton.heuristics({"EVEN": lambda a: a["n_cols"] == a["COLS"]})
@triton.jit
def row_sum(x, y, n_rows, n_cols, stride, COLS: tl.constexpr, ROWS: tl.constexpr, EVEN: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, COLS)
    at = x + r[:, None] * stride + c[None, :]
    if EVEN:
        block = tl.load(at, mask=r[:, None] < n_rows, other=0.0)
    else:
        block = tl.load(at, mask=(r[:, None] < n_rows) & (c[None, :] < n_cols), other=0.0)
    tl.store(y + r, tl.sum(block, axis=1), mask=r < n_rows)


@triton.jit
def double(y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2.0 * tl.load(y + i, mask=i < n), mask=i < n)


double_tuned = triton.autotune(
    configs=[triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 512})], key=["n"], restore_value=["y"]
)(double)


class ModelNew(nn.Module):
    def forward(self, x):
        n_rows, n_cols = x.shape
        y = torch.empty((n_rows,), device=x.device, dtype=x.dtype)
        row_sum[lambda meta: (triton.cdiv(n_rows, meta["ROWS"]),)](
            x, y, n_rows, n_cols, x.stride(0), COLS=triton.next_power_of_2(n_cols)
        )
        double[(triton.cdiv(n_rows, 64),)](y, n_rows, BLOCK=64, num_warps=2)
        double_tuned[lambda meta: (triton.cdiv(n_rows, meta["BLOCK"]),)](y, n_rows)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(70, 90)]
