# kernel_type: recurrent_host_loop
# complexity: high
# outcome: works
# near: grid-batch-only
"""Input gates for all steps in one product, then a Python loop that launches the hidden half of each step."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def hidden_gates_kernel(
    gates_ptr, h_ptr, w_ptr, bias_ptr, out_ptr,
    batch, hidden,
    BLOCK_B: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rb = tl.program_id(0) * BLOCK_B + tl.arange(0, BLOCK_B)
    rh = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    in_b, in_h = (rb < batch)[:, None], (rh < hidden)[None, :]
    r = tl.zeros((BLOCK_B, BLOCK_H), tl.float32)
    z = tl.zeros((BLOCK_B, BLOCK_H), tl.float32)
    n = tl.zeros((BLOCK_B, BLOCK_H), tl.float32)
    for k0 in range(0, hidden, BLOCK_K):
        rk = k0 + tl.arange(0, BLOCK_K)
        h = tl.load(h_ptr + rb[:, None] * hidden + rk[None, :], mask=in_b & (rk < hidden)[None, :], other=0.0)
        wp = w_ptr + rh[None, :] * hidden + rk[:, None]
        mk = in_h & (rk < hidden)[:, None]
        r += tl.dot(h, tl.load(wp, mask=mk, other=0.0), input_precision="ieee")
        z += tl.dot(h, tl.load(wp + hidden * hidden, mask=mk, other=0.0), input_precision="ieee")
        n += tl.dot(h, tl.load(wp + 2 * hidden * hidden, mask=mk, other=0.0), input_precision="ieee")
    g = gates_ptr + rb[:, None] * 3 * hidden + rh[None, :]
    inside = in_b & in_h
    r = tl.sigmoid(r + tl.load(g, mask=inside, other=0.0))
    z = tl.sigmoid(z + tl.load(g + hidden, mask=inside, other=0.0))
    n = r * (n + tl.load(bias_ptr + rh, mask=rh < hidden, other=0.0)[None, :])
    n = 2 * tl.sigmoid(2 * (n + tl.load(g + 2 * hidden, mask=inside, other=0.0))) - 1
    old = tl.load(h_ptr + rb[:, None] * hidden + rh[None, :], mask=inside, other=0.0)
    tl.store(out_ptr + rb[:, None] * hidden + rh[None, :], n + z * (old - n), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers=3, bias=True, batch_first=False):
        super().__init__()
        self.gru = nn.GRU(input_size, hidden_size, num_layers, bias, batch_first)
        self.hidden_size, self.num_layers = hidden_size, num_layers

    def _one_layer(self, x, h, index):
        steps, batch, _ = x.shape
        H = self.hidden_size
        w_ih, w_hh, b_ih, b_hh = self.gru.all_weights[index]
        gates = torch.nn.functional.linear(x, w_ih, b_ih)
        gates[:, :, : 2 * H] += b_hh[: 2 * H]
        out = torch.empty(steps, batch, H, device=x.device, dtype=x.dtype)
        grid = (triton.cdiv(batch, 16), triton.cdiv(H, 32))
        for t in range(steps):  #! time-loop-on-host
            hidden_gates_kernel[grid](
                gates[t], h, w_hh, b_hh[2 * H:], out[t], batch, H, BLOCK_B=16, BLOCK_H=32, BLOCK_K=32
            )
            h = out[t]
        return out, h

    def forward(self, x, h0):
        last = []
        for index in range(self.num_layers):
            x, h = self._one_layer(x, h0[index], index)
            last.append(h)
        return torch.stack(last, 0)


def get_init_inputs():
    return [8, 40]


def get_inputs():
    return [torch.randn(5, 3, 8), torch.randn(3, 3, 40)]
