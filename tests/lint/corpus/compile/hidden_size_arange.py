# kernel_type: elementwise
# complexity: low
# outcome: fails
"""Point-wise part of an LSTM cell; the hidden size is a plain argument."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lstm_pointwise_kernel(
    gates_ptr,  # (B, 4H)
    c_ptr,      # (B, H)
    h_out_ptr,
    c_out_ptr,
    H,
):
    b = tl.program_id(0)
    offs = tl.arange(0, H)  #! arange-runtime-bound
    base = gates_ptr + b * 4 * H
    i = tl.sigmoid(tl.load(base + offs))
    f = tl.sigmoid(tl.load(base + H + offs))
    g = 2 * tl.sigmoid(2 * tl.load(base + 2 * H + offs)) - 1
    o = tl.sigmoid(tl.load(base + 3 * H + offs))
    c = f * tl.load(c_ptr + b * H + offs) + i * g
    tl.store(c_out_ptr + b * H + offs, c)
    tl.store(h_out_ptr + b * H + offs, o * (2 * tl.sigmoid(2 * c) - 1))


def lstm_pointwise(gates, c):
    B, H = c.shape
    gates, c = gates.contiguous(), c.contiguous()
    h_new, c_new = torch.empty_like(c), torch.empty_like(c)
    lstm_pointwise_kernel[(B,)](gates, c, h_new, c_new, H, num_warps=4)
    return h_new, c_new


class ModelNew(nn.Module):
    def forward(self, gates, c):
        return lstm_pointwise(gates, c)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(3, 256), torch.randn(3, 64)]
