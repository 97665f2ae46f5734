# kernel_type: persistent_recurrent
# complexity: persistent
# outcome: works
# near: autotune-on-persistent, time-loop-on-host, small-launch-count
"""The product in front of the recurrence is tuned, the recurrence itself has one fixed configuration."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BM": 64, "BN": 64, "BK": 32}, num_warps=4),
        triton.Config({"BM": 32, "BN": 64, "BK": 32}, num_warps=2),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def linear_kernel(x, w, b, y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        rk = k0 + tl.arange(0, BK)
        xt = tl.load(x + rm[:, None] * K + rk, mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        wt = tl.load(w + rn[None, :] * K + rk[:, None], mask=(rn[None, :] < N) & (rk[:, None] < K), other=0.0)
        acc += tl.dot(xt, wt, input_precision="ieee")
    acc += tl.load(b + rn, mask=rn < N, other=0.0)[None, :]
    tl.store(y + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def sru_kernel(u, v_f, v_r, y, steps, width, BLOCK: tl.constexpr):
    """Simple recurrent unit: the gates look at the cell through a vector, so channels stay apart."""
    col = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    seq = tl.program_id(1)
    ok = col < width
    vf = tl.load(v_f + col, mask=ok, other=0.0)
    vr = tl.load(v_r + col, mask=ok, other=0.0)
    cell = tl.zeros((BLOCK,), tl.float32)
    row = u + seq * steps * 3 * width
    for t in range(steps):
        cand = tl.load(row + t * 3 * width + col, mask=ok, other=0.0)
        f = tl.sigmoid(tl.load(row + t * 3 * width + width + col, mask=ok, other=0.0) + vf * cell)
        r = tl.sigmoid(tl.load(row + t * 3 * width + 2 * width + col, mask=ok, other=0.0) + vr * cell)
        cell = f * cell + (1 - f) * cand
        tl.store(y + (seq * steps + t) * width + col, r * cell, mask=ok)


class ModelNew(nn.Module):
    def __init__(self, n_in, width, depth):
        super().__init__()
        self.width = width
        self.proj = nn.ModuleList(nn.Linear(n_in if i == 0 else width, 3 * width) for i in range(depth))
        self.v_f = nn.ParameterList(nn.Parameter(torch.randn(width)) for _ in range(depth))
        self.v_r = nn.ParameterList(nn.Parameter(torch.randn(width)) for _ in range(depth))

    def forward(self, x):
        for proj, v_f, v_r in zip(self.proj, self.v_f, self.v_r):
            x = self._layer(x.contiguous(), proj, v_f, v_r)
        return x

    def _layer(self, x, proj, v_f, v_r):
        seqs, steps, n_in = x.shape
        width = self.width
        u = torch.empty(seqs, steps, 3 * width, device=x.device, dtype=x.dtype)
        M, N = seqs * steps, 3 * width
        grid = lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]))
        linear_kernel[grid](x, proj.weight, proj.bias, u, M, N, n_in)
        y = torch.empty(seqs, steps, width, device=x.device, dtype=x.dtype)
        sru_kernel[(triton.cdiv(width, 64), seqs)](u, v_f, v_r, y, steps, width, BLOCK=64)
        return y


def get_init_inputs():
    return [10, 40, 3]


def get_inputs():
    return [torch.randn(3, 7, 10)]
