# kernel_type: recurrent_host_loop
# complexity: high
# outcome: works
# near: small-launch-count, torch-does-the-work
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lstm_pointwise(gates_ptr, cell_ptr, new_hidden_ptr, new_cell_ptr, hidden_size, total, BLOCK: tl.constexpr):
    idx = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = idx < total
    row = idx // hidden_size
    col = idx % hidden_size
    base = gates_ptr + row * 4 * hidden_size + col
    i = tl.sigmoid(tl.load(base, mask=mask, other=0.0))
    f = tl.sigmoid(tl.load(base + hidden_size, mask=mask, other=0.0))
    g = 2 * tl.sigmoid(2 * tl.load(base + 2 * hidden_size, mask=mask, other=0.0)) - 1
    o = tl.sigmoid(tl.load(base + 3 * hidden_size, mask=mask, other=0.0))
    c = f * tl.load(cell_ptr + idx, mask=mask, other=0.0) + i * g
    tl.store(new_cell_ptr + idx, c, mask=mask)
    tl.store(new_hidden_ptr + idx, o * (2 * tl.sigmoid(2 * c) - 1), mask=mask)


@triton.jit
def gates_gemm(x, h, w, u, b, out, B, I, H, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for k0 in range(0, I, BK):
        rk = k0 + tl.arange(0, BK)
        a = tl.load(x + rm[:, None] * I + rk[None, :], mask=(rm < B)[:, None] & (rk < I)[None, :], other=0.0)
        t = tl.load(w + rn[None, :] * I + rk[:, None], mask=(rn < N)[None, :] & (rk < I)[:, None], other=0.0)
        acc += tl.dot(a, t, input_precision="ieee")
    for k0 in range(0, H, BK):
        rk = k0 + tl.arange(0, BK)
        a = tl.load(h + rm[:, None] * H + rk[None, :], mask=(rm < B)[:, None] & (rk < H)[None, :], other=0.0)
        t = tl.load(u + rn[None, :] * H + rk[:, None], mask=(rn < N)[None, :] & (rk < H)[:, None], other=0.0)
        acc += tl.dot(a, t, input_precision="ieee")
    acc += tl.load(b + rn, mask=rn < N, other=0.0)[None, :]
    tl.store(out + rm[:, None] * N + rn[None, :], acc, mask=(rm < B)[:, None] & (rn < N)[None, :])


class FusedCell(nn.Module):
    def __init__(self, n_in, n_hid):
        super().__init__()
        self.n_hid = n_hid
        self.weight = nn.Parameter(torch.randn(4 * n_hid, n_in) * 0.1)
        self.recurrent = nn.Parameter(torch.randn(4 * n_hid, n_hid) * 0.1)
        self.bias = nn.Parameter(torch.zeros(4 * n_hid))

    def forward(self, x, state):
        h, c = state
        x = x.contiguous()
        B, I = x.shape
        H, N = self.n_hid, 4 * self.n_hid
        gates = torch.empty(B, N, device=x.device, dtype=x.dtype)
        gates_gemm[(triton.cdiv(B, 16), triton.cdiv(N, 32))](
            x, h, self.weight, self.recurrent, self.bias, gates, B, I, H, N, BM=16, BN=32, BK=16
        )
        h_new, c_new = torch.empty_like(h), torch.empty_like(c)
        lstm_pointwise[(triton.cdiv(B * H, 256),)](gates, c, h_new, c_new, H, B * H, BLOCK=256)
        return h_new, c_new


class ModelNew(nn.Module):
    def __init__(self, n_in, n_hid):
        super().__init__()
        self.cell = FusedCell(n_in, n_hid)

    def forward(self, x):
        batch, steps, _ = x.shape
        hs = torch.empty(batch, steps, self.cell.n_hid, device=x.device, dtype=x.dtype)
        zeros = torch.zeros(batch, self.cell.n_hid, device=x.device, dtype=x.dtype)
        state = (zeros, zeros)
        for i, token in enumerate(x.transpose(0, 1)):  #! time-loop-on-host
            state = self.cell(token, state)
            hs[:, i] = state[0]
        return hs


def get_init_inputs():
    return [10, 24]


def get_inputs():
    return [torch.randn(3, 4, 10)]
