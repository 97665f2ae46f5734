# kernel_type: persistent_recurrent
# complexity: persistent
# outcome: fails
"""A GRU layer in one launch that picks single hidden units out of the state in registers."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gru_layer_kernel(
    gates_ptr, w_hh_ptr, b_hh_ptr, h0_ptr, out_ptr,
    T, B, HIDDEN: tl.constexpr,
):
    row = tl.program_id(0)
    units = tl.arange(0, HIDDEN)
    h_prev = tl.load(h0_ptr + row * HIDDEN + units)
    for t in range(0, T):
        step = (t * B + row) * 3 * HIDDEN
        r = tl.load(gates_ptr + step + units)
        z = tl.load(gates_ptr + step + HIDDEN + units)
        n = tl.load(gates_ptr + step + 2 * HIDDEN + units)
        k_ids = tl.arange(0, 16)
        w = tl.load(w_hh_ptr + units[:, None] * HIDDEN + k_ids[None, :])
        h_k = h_prev[k_ids]  #! tensor-indexing
        rec = tl.sum(w * h_k[None, :], axis=1) + tl.load(b_hh_ptr + units)
        r = tl.sigmoid(r + rec)
        z = tl.sigmoid(z + rec)
        n = 2.0 * tl.sigmoid(2.0 * (n + r * rec)) - 1.0
        h_prev = (1.0 - z) * n + z * h_prev
        tl.store(out_ptr + (t * B + row) * HIDDEN + units, h_prev)


class ModelNew(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.w_ih = nn.Parameter(torch.randn(3 * hidden_size, input_size) * 0.1)
        self.w_hh = nn.Parameter(torch.randn(hidden_size, hidden_size) * 0.1)
        self.b_hh = nn.Parameter(torch.zeros(hidden_size))

    def forward(self, x, h0):
        T, B, _ = x.shape
        gates = torch.matmul(x, self.w_ih.t()).contiguous()
        h0 = h0.contiguous()
        out = torch.empty(T, B, self.hidden_size, device=x.device, dtype=x.dtype)
        gru_layer_kernel[(B,)](gates, self.w_hh, self.b_hh, h0, out, T, B, HIDDEN=64)
        return out


def get_init_inputs():
    return [32, 64]


def get_inputs():
    return [torch.randn(8, 4, 32), torch.randn(4, 64)]
