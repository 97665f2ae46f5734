# kernel_type: convolution
# complexity: medium
# outcome: fails
"""Dilated causal convolution: the tap shifts the offset of a block pointer, one dot per tap."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def dilated(x, w, y, T, C, F, DIL: tl.constexpr, K: tl.constexpr, BT: tl.constexpr, BC: tl.constexpr, BF: tl.constexpr):
    i_t, i_f, i_b = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    acc = tl.zeros([BT, BF], dtype=tl.float32)
    for i_k in range(K):
        for i_c in range(0, C, BC):
            p_x = tl.make_block_ptr(x + i_b * T * C, (T, C), (C, 1), (i_t * BT - i_k * DIL, i_c), (BT, BC), (1, 0))
            p_w = tl.make_block_ptr(w + i_k * C * F, (C, F), (F, 1), (i_c, i_f * BF), (BC, BF), (1, 0))
            b_x = tl.load(p_x, boundary_check=(0, 1), padding_option="zero")
            b_w = tl.load(p_w, boundary_check=(0, 1), padding_option="zero")
            acc += tl.dot(b_x, b_w, input_precision="ieee")
    p_y = tl.make_block_ptr(y + i_b * T * F, (T, F), (F, 1), (i_t * BT, i_f * BF), (BT, BF), (1, 0))
    tl.store(p_y, acc, boundary_check=(0, 1))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 20, 30))

    def forward(self, x):
        x = x.contiguous()
        b, t, c = x.shape
        k, _, f = self.weight.shape
        y = torch.empty(b, t, f, device=x.device)
        dilated[(triton.cdiv(t, 32), triton.cdiv(f, 32), b)](x, self.weight, y, t, c, f, DIL=2, K=k, BT=32, BC=16, BF=32)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 70, 20)]
