# kernel_type: attention
# complexity: high
# outcome: works
# near: unsafe-exp, tf32-implicit
import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def windowed(
    q_ptr, k_ptr, v_ptr, o_ptr, n_ctx, window, group, scale,
    sqz, sqm, skz, skn, soz, som,
    HEAD: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr,
):
    """Grouped queries: `group` query heads share a key head; every query sees the `window` keys up to itself."""
    z = tl.program_id(1)
    row0 = tl.program_id(0) * ROWS
    rows = row0 + tl.arange(0, ROWS)
    feat = tl.arange(0, HEAD)
    q = tl.load(q_ptr + z * sqz + rows[:, None] * sqm + feat[None, :], mask=rows[:, None] < n_ctx, other=0.0)
    top = tl.zeros([ROWS], dtype=tl.float32) - float("inf")
    mass = tl.zeros([ROWS], dtype=tl.float32)
    mixed = tl.zeros([ROWS, HEAD], dtype=tl.float32)
    kz = z // group
    first = tl.maximum(row0 - window + 1, 0) // COLS * COLS
    last = tl.minimum(row0 + ROWS, n_ctx)
    for col0 in tl.range(first, last, COLS):
        cols = col0 + tl.arange(0, COLS)
        live = cols < n_ctx
        k = tl.load(k_ptr + kz * skz + cols[:, None] * skn + feat[None, :], mask=live[:, None], other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        near = (rows[:, None] >= cols[None, :]) & (rows[:, None] - cols[None, :] < window) & live[None, :]
        s = tl.where(near, s, -1e9)
        new_top = tl.maximum(top, tl.max(s, axis=1))
        keep = tl.exp(top - new_top)
        p = tl.where(near, tl.exp(s - new_top[:, None]), 0.0)
        v = tl.load(v_ptr + kz * skz + cols[:, None] * skn + feat[None, :], mask=live[:, None], other=0.0)
        mixed = mixed * keep[:, None] + tl.dot(p, v, input_precision="ieee")
        mass = mass * keep + tl.sum(p, axis=1)
        top = new_top
    mixed /= mass[:, None]
    tl.store(o_ptr + z * soz + rows[:, None] * som + feat[None, :], mixed, mask=rows[:, None] < n_ctx)


class ModelNew(nn.Module):
    def __init__(self, window):
        super().__init__()
        self.window = window

    def forward(self, q, k, v):
        b, hq, t, d = q.shape
        hk = k.shape[1]
        q, k, v = q.reshape(b * hq, t, d), k.reshape(b * hk, t, d), v.reshape(b * hk, t, d)
        o = torch.empty_like(q)
        windowed[(triton.cdiv(t, 32), b * hq)](
            q, k, v, o, t, self.window, hq // hk, 1.0 / math.sqrt(d),
            q.stride(0), q.stride(1), k.stride(0), k.stride(1), o.stride(0), o.stride(1),
            HEAD=d, ROWS=32, COLS=32,
        )
        return o.view(b, hq, t, d)


def get_init_inputs():
    return [40]


def get_inputs():
    return [torch.randn(1, 4, 90, 32), torch.randn(1, 2, 90, 32), torch.randn(1, 2, 90, 32)]
