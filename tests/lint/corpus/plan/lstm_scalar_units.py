# kernel_type: persistent_recurrent
# complexity: persistent
# outcome: works
# near: time-loop-on-host, no-tensor-core
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lstm_forward_kernel(
    x_ptr, w_ih_ptr, w_hh_ptr, b_ptr, h_ptr, c_ptr, y_ptr,
    SEQ, INPUT, HIDDEN,
    BLOCK_H: tl.constexpr,
):
    """One program runs one sequence; the state lives in h_ptr and c_ptr between steps."""
    b = tl.program_id(0)
    j = tl.arange(0, BLOCK_H)
    m = j < HIDDEN
    c = tl.load(c_ptr + b * HIDDEN + j, mask=m, other=0.0)
    for t in range(0, SEQ):  #! grid-batch-only
        gi = tl.load(b_ptr + j, mask=m, other=0.0)
        gf = tl.load(b_ptr + HIDDEN + j, mask=m, other=0.0)
        gg = tl.load(b_ptr + 2 * HIDDEN + j, mask=m, other=0.0)
        go = tl.load(b_ptr + 3 * HIDDEN + j, mask=m, other=0.0)
        for k in range(0, INPUT):  #! scalar-vector-loop
            xk = tl.load(x_ptr + (b * SEQ + t) * INPUT + k)
            gi += xk * tl.load(w_ih_ptr + j * INPUT + k, mask=m, other=0.0)
            gf += xk * tl.load(w_ih_ptr + (HIDDEN + j) * INPUT + k, mask=m, other=0.0)
            gg += xk * tl.load(w_ih_ptr + (2 * HIDDEN + j) * INPUT + k, mask=m, other=0.0)
            go += xk * tl.load(w_ih_ptr + (3 * HIDDEN + j) * INPUT + k, mask=m, other=0.0)
        for k in range(0, HIDDEN):  #! scalar-vector-loop
            hk = tl.load(h_ptr + b * HIDDEN + k)
            gi += hk * tl.load(w_hh_ptr + j * HIDDEN + k, mask=m, other=0.0)
            gf += hk * tl.load(w_hh_ptr + (HIDDEN + j) * HIDDEN + k, mask=m, other=0.0)
            gg += hk * tl.load(w_hh_ptr + (2 * HIDDEN + j) * HIDDEN + k, mask=m, other=0.0)
            go += hk * tl.load(w_hh_ptr + (3 * HIDDEN + j) * HIDDEN + k, mask=m, other=0.0)
        i_gate = tl.sigmoid(gi)
        f_gate = tl.sigmoid(gf)
        g_gate = 2.0 * tl.sigmoid(2.0 * gg) - 1.0
        o_gate = tl.sigmoid(go)
        c = f_gate * c + i_gate * g_gate
        h = o_gate * (2.0 * tl.sigmoid(2.0 * c) - 1.0)
        tl.debug_barrier()
        tl.store(h_ptr + b * HIDDEN + j, h, mask=m)
        tl.store(y_ptr + (b * SEQ + t) * HIDDEN + j, h, mask=m)
        tl.debug_barrier()
    tl.store(c_ptr + b * HIDDEN + j, c, mask=m)


class ModelNew(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.lstm = nn.LSTM(input_size, hidden_size, batch_first=True)
        self.hidden_size = hidden_size

    def forward(self, x, h0, c0):
        batch, seq, inp = x.shape
        x = x.contiguous()
        h = h0[0].clone()
        c = c0[0].clone()
        y = torch.empty(batch, seq, self.hidden_size, device=x.device, dtype=x.dtype)
        lstm_forward_kernel[(batch,)](
            x, self.lstm.weight_ih_l0, self.lstm.weight_hh_l0, self.lstm.bias_ih_l0 + self.lstm.bias_hh_l0,
            h, c, y, seq, inp, self.hidden_size, BLOCK_H=triton.next_power_of_2(self.hidden_size),
        )
        return y, c


def get_init_inputs():
    return [12, 20]


def get_inputs():
    return [torch.randn(3, 5, 12), torch.randn(1, 3, 20), torch.randn(1, 3, 20)]
