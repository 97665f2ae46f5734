# kernel_type: recurrent_host_loop
# complexity: high
# outcome: works
# near: small-launch-count, scalar-vector-loop
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rnn_cell(x_ptr, h_ptr, w_ptr, u_ptr, y_ptr, n_in, n_hid, BI: tl.constexpr, BH: tl.constexpr, ROWS: tl.constexpr):
    sample = tl.program_id(0)
    rows = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    i = tl.arange(0, BI)
    j = tl.arange(0, BH)
    x = tl.load(x_ptr + sample * n_in + i, mask=i < n_in, other=0.0)
    h = tl.load(h_ptr + sample * n_hid + j, mask=j < n_hid, other=0.0)
    w = tl.load(w_ptr + rows[:, None] * n_in + i[None, :], mask=(rows < n_hid)[:, None] & (i < n_in)[None, :], other=0.0)
    u = tl.load(u_ptr + rows[:, None] * n_hid + j[None, :],
                mask=(rows < n_hid)[:, None] & (j < n_hid)[None, :], other=0.0)
    a = tl.sum(w * x[None, :], axis=1) + tl.sum(u * h[None, :], axis=1)
    tl.store(y_ptr + sample * n_hid + rows, 1.0 - 2.0 / (1.0 + tl.exp(2.0 * a)), mask=rows < n_hid)


class ModelNew(nn.Module):
    def __init__(self, n_in, n_hid):
        super().__init__()
        self.n_hid = n_hid
        self.W = nn.Parameter(torch.randn(n_hid, n_in) * 0.1)
        self.U = nn.Parameter(torch.randn(n_hid, n_hid) * 0.1)

    def _step(self, frame, hidden):
        frame = frame.contiguous()
        new = torch.empty_like(hidden)
        grid = (frame.shape[0], triton.cdiv(self.n_hid, 16))
        rnn_cell[grid](
            frame, hidden, self.W, self.U, new, frame.shape[1], self.n_hid,
            BI=triton.next_power_of_2(frame.shape[1]), BH=triton.next_power_of_2(self.n_hid), ROWS=16,
        )
        return new

    def forward(self, x):
        hidden = x.new_zeros(x.size(0), self.n_hid)
        for frame in x.unbind(dim=1):  #! time-loop-on-host
            hidden = self._step(frame, hidden)
        return hidden


def get_init_inputs():
    return [9, 30]


def get_inputs():
    return [torch.randn(3, 5, 9)]
