# kernel_type: persistent_recurrent
# complexity: persistent
# outcome: works
# near: small-launch-count, register-budget
import torch
import torch.nn as nn
import triton
import triton.language as tl

PAD = 16


@triton.jit
def tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1


@triton.jit
def short_lstm(
    X, U, H_LAST,
    rows,
    STEPS: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr,
):
    """A fixed, short history: the steps are unrolled at compile time. U is [4, D, D]."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    d = tl.arange(0, D)
    sq = d[:, None] * D + d[None, :]
    Ui, Uf = tl.load(U + sq), tl.load(U + D * D + sq)
    Ug, Uo = tl.load(U + 2 * D * D + sq), tl.load(U + 3 * D * D + sq)
    here = (row < rows)[:, None]
    h = tl.zeros([ROWS, D], dtype=tl.float32)
    c = tl.zeros([ROWS, D], dtype=tl.float32)
    for s in tl.static_range(STEPS):
        x = X + row[:, None] * (STEPS * 4 * D) + s * 4 * D + d[None, :]
        i = tl.load(x, mask=here, other=0.0) + tl.dot(h, Ui, input_precision="ieee")
        f = tl.load(x + D, mask=here, other=0.0) + tl.dot(h, Uf, input_precision="ieee")
        g = tl.load(x + 2 * D, mask=here, other=0.0) + tl.dot(h, Ug, input_precision="ieee")
        o = tl.load(x + 3 * D, mask=here, other=0.0) + tl.dot(h, Uo, input_precision="ieee")
        c = tl.sigmoid(f) * c + tl.sigmoid(i) * tanh(g)
        h = tl.sigmoid(o) * tanh(c)
    tl.store(H_LAST + row[:, None] * D + d[None, :], h, mask=here)


class ModelNew(nn.Module):
    def __init__(self, features, steps):
        super().__init__()
        self.steps = steps
        self.w = nn.Parameter(torch.randn(features, 4 * PAD) * 0.1)
        self.u = nn.Parameter(torch.randn(4, PAD, PAD) * 0.1)

    def forward(self, x):
        rows = x.size(0)
        xw = (x @ self.w).contiguous()
        h = x.new_empty(rows, PAD)
        short_lstm[(triton.cdiv(rows, 16),)](xw, self.u, h, rows, STEPS=self.steps, D=PAD, ROWS=16)
        return h


def get_init_inputs():
    return [7, 4]


def get_inputs():
    return [torch.randn(20, 4, 7)]
