# kernel_type: normalization
# complexity: low
# outcome: works
# near: arange-runtime-bound, arange-not-power-of-two, constexpr-misuse, dot-tile-too-small
"""Constants reach `tl.arange` by many ways: helpers, annotations, expressions, an argument that is one."""
import torch
import torch.nn as nn
import triton
import triton.language as tl

GROUP = tl.constexpr(4)


@triton.jit
def lanes(first, count):
    return first + tl.arange(0, count)


@triton.jit
def softmax_rows(x_ptr, y_ptr, n_rows, n_cols, single, COLS: tl.constexpr):
    HALF: tl.constexpr = COLS // 2
    rows = tl.program_id(0) * GROUP + tl.arange(0, GROUP)
    left = lanes(0, HALF)
    right = lanes(HALF, COLS - HALF)
    cols = tl.reshape(tl.join(left, right), (COLS,))
    lone = tl.arange(0, single)
    mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    x = tl.load(x_ptr + rows[:, None] * n_cols + cols[None, :], mask=mask, other=float("-inf"))
    x = x - tl.max(x, axis=1)[:, None]
    e = tl.exp(x) + tl.sum(lone) * 0.0
    total = tl.broadcast_to(tl.sum(e, axis=1)[:, None], (GROUP, HALF * 2))
    tl.store(y_ptr + rows[:, None] * n_cols + cols[None, :], e / total, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        y = torch.empty_like(x)
        softmax_rows[(triton.cdiv(rows, 4),)](x, y, rows, cols, 1, COLS=triton.next_power_of_2(cols))
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(10, 60)]
