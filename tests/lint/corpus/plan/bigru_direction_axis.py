# kernel_type: persistent_recurrent
# complexity: persistent
# outcome: works
# near: time-loop-on-host, small-launch-count
"""Both directions of a GRU at once: the second grid axis picks the direction, the first one the sequence."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bidirectional_gru(
    gi_ptr, whh_ptr, bhh_ptr, hidden_ptr, out_ptr,
    seq_len, batch, hidden,
    BLOCK_HIDDEN: tl.constexpr,
):
    pid_batch = tl.program_id(0)
    direction = tl.program_id(1)
    cols = tl.arange(0, BLOCK_HIDDEN)
    valid = cols < hidden
    weights = whh_ptr + direction * 3 * hidden * hidden
    biases = bhh_ptr + direction * 3 * hidden
    h_row = hidden_ptr + (direction * batch + pid_batch) * hidden
    for i in range(seq_len):  #! grid-batch-only
        pos = i + direction * (seq_len - 1 - 2 * i)
        acc_r = tl.load(biases + cols, mask=valid, other=0.0)
        acc_z = tl.load(biases + hidden + cols, mask=valid, other=0.0)
        acc_n = tl.load(biases + 2 * hidden + cols, mask=valid, other=0.0)
        for k in range(hidden):  #! scalar-vector-loop
            h_k = tl.load(h_row + k)
            # weights are transposed beforehand, [direction, gate, in, out], so that rows are contiguous
            w = weights + k * hidden + cols
            acc_r += h_k * tl.load(w, mask=valid, other=0.0)
            acc_z += h_k * tl.load(w + hidden * hidden, mask=valid, other=0.0)
            acc_n += h_k * tl.load(w + 2 * hidden * hidden, mask=valid, other=0.0)
        gi = gi_ptr + ((direction * seq_len + pos) * batch + pid_batch) * 3 * hidden + cols
        r = tl.sigmoid(tl.load(gi, mask=valid, other=0.0) + acc_r)
        z = tl.sigmoid(tl.load(gi + hidden, mask=valid, other=0.0) + acc_z)
        n = 2.0 * tl.sigmoid(2.0 * (tl.load(gi + 2 * hidden, mask=valid, other=0.0) + r * acc_n)) - 1.0
        previous = tl.load(h_row + cols, mask=valid, other=0.0)
        current = (1.0 - z) * n + z * previous
        tl.debug_barrier()
        tl.store(h_row + cols, current, mask=valid)
        tl.store(out_ptr + ((pos * batch + pid_batch) * 2 + direction) * hidden + cols, current, mask=valid)
        tl.debug_barrier()


class ModelNew(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.gru = nn.GRU(input_size, hidden_size, bidirectional=True)
        self.hidden_size = hidden_size

    def _packed(self, name):
        return torch.stack([getattr(self.gru, f"{name}_l0"), getattr(self.gru, f"{name}_l0_reverse")])

    def forward(self, x, h0):
        seq_len, batch, _ = x.shape
        hidden = self.hidden_size
        w_ih, b_ih = self._packed("weight_ih"), self._packed("bias_ih")
        gi = torch.einsum("tbi,dgi->dtbg", x, w_ih) + b_ih[:, None, None, :]
        w_hh = self._packed("weight_hh").view(2, 3, hidden, hidden).transpose(2, 3).contiguous()
        state = h0.clone()
        out = torch.empty(seq_len, batch, 2 * hidden, device=x.device, dtype=x.dtype)
        bidirectional_gru[(batch, 2)](
            gi.contiguous(), w_hh, self._packed("bias_hh"), state, out, seq_len, batch, hidden,
            BLOCK_HIDDEN=triton.next_power_of_2(hidden), num_warps=4,
        )
        return out, state


def get_init_inputs():
    return [6, 24]


def get_inputs():
    return [torch.randn(5, 3, 6), torch.randn(2, 3, 24)]
