# kernel_type: persistent_recurrent
# complexity: persistent
# outcome: works
# near: time-loop-on-host, small-launch-count, grid-batch-only
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lstm_seq_kernel(
    gx, whh, h_init, c_init, ys, c_last,
    n_batch, n_time,
    HID: tl.constexpr, BB: tl.constexpr,
):
    rb = tl.program_id(0) * BB + tl.arange(0, BB)
    rh = tl.arange(0, HID)
    live = (rb < n_batch)[:, None]
    st = rb[:, None] * HID + rh[None, :]
    h = tl.load(h_init + st, mask=live, other=0.0)
    c = tl.load(c_init + st, mask=live, other=0.0)
    for t in range(n_time):
        g = gx + (rb[:, None] * n_time + t) * (4 * HID) + rh[None, :]
        wi = tl.load(whh + rh[:, None] * (4 * HID) + rh[None, :])
        wf = tl.load(whh + rh[:, None] * (4 * HID) + HID + rh[None, :])
        wg = tl.load(whh + rh[:, None] * (4 * HID) + 2 * HID + rh[None, :])
        wo = tl.load(whh + rh[:, None] * (4 * HID) + 3 * HID + rh[None, :])
        i = tl.sigmoid(tl.load(g, mask=live, other=0.0) + tl.dot(h, wi, allow_tf32=False))
        f = tl.sigmoid(tl.load(g + HID, mask=live, other=0.0) + tl.dot(h, wf, allow_tf32=False))
        u = 2 * tl.sigmoid(2 * (tl.load(g + 2 * HID, mask=live, other=0.0) + tl.dot(h, wg, allow_tf32=False))) - 1
        o = tl.sigmoid(tl.load(g + 3 * HID, mask=live, other=0.0) + tl.dot(h, wo, allow_tf32=False))
        c = f * c + i * u
        h = o * (2 * tl.sigmoid(2 * c) - 1)
        tl.store(ys + (rb[:, None] * n_time + t) * HID + rh[None, :], h, mask=live)
    tl.store(c_last + st, c, mask=live)


class ModelNew(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers, output_size):
        super().__init__()
        self.hidden_size, self.num_layers = hidden_size, num_layers
        self.lstm = nn.LSTM(input_size, hidden_size, num_layers, batch_first=True)
        self.fc = nn.Linear(hidden_size, output_size)

    def forward(self, x, h0, c0):
        n_batch, n_time, _ = x.shape
        hid = self.hidden_size
        layer_in = x
        c_n = torch.empty_like(c0)
        # one launch per layer; h0[l] and c0[l] are the layer's initial state
        for l in range(self.num_layers):
            w_ih, w_hh, b_ih, b_hh = self.lstm.all_weights[l]
            gates = torch.matmul(layer_in, w_ih.t()) + (b_ih + b_hh)
            ys = torch.empty(n_batch, n_time, hid, device=x.device, dtype=x.dtype)
            lstm_seq_kernel[(triton.cdiv(n_batch, 16),)](
                gates, w_hh.t().contiguous(), h0[l], c0[l], ys, c_n[l], n_batch, n_time, HID=hid, BB=16
            )
            layer_in = ys
        return c_n


def get_init_inputs():
    return [8, 16, 4, 3]


def get_inputs():
    return [torch.randn(5, 6, 8), torch.randn(4, 5, 16), torch.randn(4, 5, 16)]
