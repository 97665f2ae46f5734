# kernel_type: persistent_recurrent
# complexity: persistent
# outcome: works
# near: grid-batch-only, scalar-vector-loop, small-launch-count, time-loop-on-host
import torch
import torch.nn as nn
import torch.nn.functional as F

import triton
import triton.language as tl


@triton.jit
def _tanh(a):
    e = tl.exp(-2.0 * tl.abs(a))
    y = (1.0 - e) / (1.0 + e)
    return tl.where(a < 0, -y, y)


@triton.jit
def _cell(gate_in, gate_forget, gate_cell, gate_out, c):
    c = tl.sigmoid(gate_forget) * c + tl.sigmoid(gate_in) * _tanh(gate_cell)
    return tl.sigmoid(gate_out) * _tanh(c), c


@triton.jit
def _project(h, w_ptr, bias_ptr, gate: tl.constexpr, D: tl.constexpr):
    """h [M, D] times the slice of the packed weight [4 * D, D] that belongs to one gate."""
    d = tl.arange(0, D)
    w = tl.load(w_ptr + (gate * D + d)[None, :] * D + d[:, None])
    b = tl.load(bias_ptr + gate * D + d)
    return tl.dot(h, w, input_precision="ieee") + b[None, :]


@triton.jit
def lstm_layer(packed_ptr, w_ptr, bias_ptr, h_out_ptr, c_out_ptr, n_seq, n_step, M: tl.constexpr, D: tl.constexpr):
    m = tl.program_id(0) * M + tl.arange(0, M)
    d = tl.arange(0, D)
    alive = (m < n_seq)[:, None]
    h = tl.zeros((M, D), dtype=tl.float32)
    c = tl.zeros((M, D), dtype=tl.float32)
    base = packed_ptr + m[:, None] * (n_step * 4 * D) + d[None, :]
    for step in range(n_step):
        at = base + step * 4 * D
        i = tl.load(at, mask=alive, other=0.0) + _project(h, w_ptr, bias_ptr, 0, D)
        f = tl.load(at + D, mask=alive, other=0.0) + _project(h, w_ptr, bias_ptr, 1, D)
        g = tl.load(at + 2 * D, mask=alive, other=0.0) + _project(h, w_ptr, bias_ptr, 2, D)
        o = tl.load(at + 3 * D, mask=alive, other=0.0) + _project(h, w_ptr, bias_ptr, 3, D)
        h, c = _cell(i, f, g, o, c)
        tl.store(h_out_ptr + (m[:, None] * n_step + step) * D + d[None, :], h, mask=alive)
    tl.store(c_out_ptr + m[:, None] * D + d[None, :], c, mask=alive)


def run_layer(x, w_ih, w_hh, b_ih, b_hh):
    n_seq, n_step, _ = x.shape
    D = w_hh.shape[1]
    packed = F.linear(x, w_ih, b_ih)
    h = torch.empty(n_seq, n_step, D, device=x.device, dtype=x.dtype)
    c = torch.empty(n_seq, D, device=x.device, dtype=x.dtype)
    lstm_layer[(triton.cdiv(n_seq, 16),)](packed, w_hh, b_hh, h, c, n_seq, n_step, M=16, D=D, num_warps=8)
    return h, c


class ModelNew(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers):
        super().__init__()
        self.num_layers = num_layers
        self.lstm = nn.LSTM(input_size, hidden_size, num_layers, batch_first=True)

    def forward(self, x):
        cells = []
        for i in range(self.num_layers):
            w_ih = getattr(self.lstm, f"weight_ih_l{i}")
            w_hh = getattr(self.lstm, f"weight_hh_l{i}")
            b_ih = getattr(self.lstm, f"bias_ih_l{i}")
            b_hh = getattr(self.lstm, f"bias_hh_l{i}")
            x, c = run_layer(x, w_ih, w_hh, b_ih, b_hh)
            cells.append(c)
        return x, torch.stack(cells)


def get_init_inputs():
    return [10, 32, 3]


def get_inputs():
    return [torch.randn(5, 6, 10)]
