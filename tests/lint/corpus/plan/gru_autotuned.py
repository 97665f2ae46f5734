# kernel_type: persistent_recurrent
# complexity: persistent
# outcome: works
# near: grid-batch-only, too-many-configs, autotune-key-missing
import torch
import torch.nn as nn
import triton
import triton.language as tl


def _configs():
    return [
        triton.Config({"BLOCK_B": 16}, num_warps=2, num_stages=1),
        triton.Config({"BLOCK_B": 16}, num_warps=4, num_stages=1),
        triton.Config({"BLOCK_B": 32}, num_warps=4, num_stages=1),
    ]


@triton.autotune(configs=_configs(), key=["B", "T", "H"])  #! autotune-on-persistent
@triton.jit
def gru_fused_kernel(x_gates_ptr, w_hh_ptr, b_hh_ptr, h_ptr, out_ptr, T, B, H: tl.constexpr, BLOCK_B: tl.constexpr):
    pid = tl.program_id(0)
    offs_b = pid * BLOCK_B + tl.arange(0, BLOCK_B)
    offs_h = tl.arange(0, H)
    b_mask = offs_b[:, None] < B
    h_prev = tl.load(h_ptr + offs_b[:, None] * H + offs_h[None, :], mask=b_mask, other=0.0)
    bias_n = tl.load(b_hh_ptr + 2 * H + offs_h)[None, :]
    for t in range(0, T):
        gate_ptrs = x_gates_ptr + t * B * 3 * H + offs_b[:, None] * 3 * H + offs_h[None, :]
        w_r = tl.load(w_hh_ptr + offs_h[:, None] + offs_h[None, :] * H)
        r_t = tl.sigmoid(tl.load(gate_ptrs, mask=b_mask, other=0.0) + tl.dot(h_prev, w_r, input_precision="ieee"))
        w_z = tl.load(w_hh_ptr + H * H + offs_h[:, None] + offs_h[None, :] * H)
        z_t = tl.sigmoid(tl.load(gate_ptrs + H, mask=b_mask, other=0.0) + tl.dot(h_prev, w_z, input_precision="ieee"))
        w_n = tl.load(w_hh_ptr + 2 * H * H + offs_h[:, None] + offs_h[None, :] * H)
        n_h = tl.dot(h_prev, w_n, input_precision="ieee") + bias_n
        n_x = tl.load(gate_ptrs + 2 * H, mask=b_mask, other=0.0)
        n_t = 2.0 * tl.sigmoid(2.0 * (n_x + r_t * n_h)) - 1.0
        h_prev = (1.0 - z_t) * n_t + z_t * h_prev
        tl.store(out_ptr + t * B * H + offs_b[:, None] * H + offs_h[None, :], h_prev, mask=b_mask)


class ModelNew(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers=2):
        super().__init__()
        self.gru = nn.GRU(input_size, hidden_size, num_layers)

    def forward(self, x, h0):
        T, B, _ = x.shape
        H = self.gru.hidden_size
        finals = []
        for (w_ih, w_hh, b_ih, b_hh), h_init in zip(self.gru.all_weights, h0):
            gates = torch.matmul(x, w_ih.t()) + b_ih
            gates[:, :, : 2 * H] += b_hh[: 2 * H]
            out = torch.empty(T, B, H, device=x.device, dtype=x.dtype)
            grid = lambda META: (triton.cdiv(B, META["BLOCK_B"]),)
            gru_fused_kernel[grid](gates, w_hh, b_hh, h_init.contiguous(), out, T, B, H=H)
            finals.append(out[-1])
            x = out
        return torch.stack(finals)


def get_init_inputs():
    return [8, 16]


def get_inputs():
    return [torch.randn(5, 18, 8), torch.randn(2, 18, 16)]
