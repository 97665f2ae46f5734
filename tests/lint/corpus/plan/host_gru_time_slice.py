# kernel_type: recurrent_host_loop
# complexity: high
# outcome: works
# near: grid-batch-only, small-launch-count
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gru_step_kernel(
    x_ptr, h_ptr, w_ih_ptr, w_hh_ptr, b_ih_ptr, b_hh_ptr, h_out_ptr,
    B, I, H, stride_xb,
    BLOCK_B: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_K: tl.constexpr,
):
    offs_b = tl.program_id(0) * BLOCK_B + tl.arange(0, BLOCK_B)
    offs_h = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    offs_k = tl.arange(0, BLOCK_K)
    mask_b, mask_h = offs_b < B, offs_h < H
    acc_r = tl.zeros((BLOCK_B, BLOCK_H), dtype=tl.float32)
    acc_z = tl.zeros((BLOCK_B, BLOCK_H), dtype=tl.float32)
    acc_in = tl.zeros((BLOCK_B, BLOCK_H), dtype=tl.float32)
    acc_hn = tl.zeros((BLOCK_B, BLOCK_H), dtype=tl.float32)
    for k in range(0, I, BLOCK_K):
        mask_k = k + offs_k < I
        x = tl.load(x_ptr + offs_b[:, None] * stride_xb + k + offs_k[None, :],
                    mask=mask_b[:, None] & mask_k[None, :], other=0.0)
        w = w_ih_ptr + offs_h[None, :] * I + k + offs_k[:, None]
        m = mask_h[None, :] & mask_k[:, None]
        acc_r = tl.dot(x, tl.load(w, mask=m, other=0.0), acc_r, input_precision="ieee")
        acc_z = tl.dot(x, tl.load(w + H * I, mask=m, other=0.0), acc_z, input_precision="ieee")
        acc_in = tl.dot(x, tl.load(w + 2 * H * I, mask=m, other=0.0), acc_in, input_precision="ieee")
    for k in range(0, H, BLOCK_K):
        mask_k = k + offs_k < H
        h = tl.load(h_ptr + offs_b[:, None] * H + k + offs_k[None, :],
                    mask=mask_b[:, None] & mask_k[None, :], other=0.0)
        w = w_hh_ptr + offs_h[None, :] * H + k + offs_k[:, None]
        m = mask_h[None, :] & mask_k[:, None]
        acc_r = tl.dot(h, tl.load(w, mask=m, other=0.0), acc_r, input_precision="ieee")
        acc_z = tl.dot(h, tl.load(w + H * H, mask=m, other=0.0), acc_z, input_precision="ieee")
        acc_hn = tl.dot(h, tl.load(w + 2 * H * H, mask=m, other=0.0), acc_hn, input_precision="ieee")
    bi, bh = b_ih_ptr + offs_h, b_hh_ptr + offs_h
    r = tl.sigmoid(acc_r + (tl.load(bi, mask=mask_h, other=0.0) + tl.load(bh, mask=mask_h, other=0.0))[None, :])
    z = tl.sigmoid(acc_z + (tl.load(bi + H, mask=mask_h, other=0.0) + tl.load(bh + H, mask=mask_h, other=0.0))[None, :])
    n_x = acc_in + tl.load(bi + 2 * H, mask=mask_h, other=0.0)[None, :]
    n_h = acc_hn + tl.load(bh + 2 * H, mask=mask_h, other=0.0)[None, :]
    n = 2.0 * tl.sigmoid(2.0 * (n_x + r * n_h)) - 1.0
    place = offs_b[:, None] * H + offs_h[None, :]
    mask = mask_b[:, None] & mask_h[None, :]
    old = tl.load(h_ptr + place, mask=mask, other=0.0)
    tl.store(h_out_ptr + place, (1.0 - z) * n + z * old, mask=mask)


def triton_gru_step(x_t, h, w_ih, w_hh, b_ih, b_hh):
    B, I = x_t.shape
    H = h.shape[1]
    h_out = torch.empty_like(h)
    grid = (triton.cdiv(B, 16), triton.cdiv(H, 32))
    gru_step_kernel[grid](
        x_t, h, w_ih, w_hh, b_ih, b_hh, h_out, B, I, H, x_t.stride(0), BLOCK_B=16, BLOCK_H=32, BLOCK_K=32
    )
    return h_out


class ModelNew(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers):
        super().__init__()
        self.num_layers = num_layers
        self.gru = nn.GRU(input_size, hidden_size, num_layers, batch_first=True)

    def forward(self, x, h0):
        seq_len = x.shape[1]
        layer_input = x
        for layer in range(self.num_layers):
            w_ih = getattr(self.gru, f"weight_ih_l{layer}")
            w_hh = getattr(self.gru, f"weight_hh_l{layer}")
            b_ih = getattr(self.gru, f"bias_ih_l{layer}")
            b_hh = getattr(self.gru, f"bias_hh_l{layer}")
            h = h0[layer].contiguous()
            outputs = []
            for t in range(seq_len):  #! time-loop-on-host
                h = triton_gru_step(layer_input[:, t, :], h, w_ih, w_hh, b_ih, b_hh)
                outputs.append(h)
            layer_input = torch.stack(outputs, dim=1)
        return layer_input


def get_init_inputs():
    return [12, 20, 2]


def get_inputs():
    return [torch.randn(4, 6, 12), torch.randn(2, 4, 20)]
