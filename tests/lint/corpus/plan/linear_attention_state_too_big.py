# kernel_type: persistent_recurrent
# complexity: persistent
# outcome: works
# near: no-tensor-core, grid-batch-only, time-loop-on-host
"""Gated linear attention, step by step: S = a_t * S + k_t v_t^T, o_t = q_t S.

One program holds the whole [256, 128] state of a head: 32768 floats over one warp.
"""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gla_kernel(q_ptr, k_ptr, v_ptr, decay_ptr, o_ptr, T, DK: tl.constexpr, DV: tl.constexpr):
    head = tl.program_id(0)
    ik = tl.arange(0, DK)
    iv = tl.arange(0, DV)
    q_ptr += head * T * DK
    k_ptr += head * T * DK
    v_ptr += head * T * DV
    o_ptr += head * T * DV
    decay_ptr += head * T
    state = tl.zeros((DK, DV), dtype=tl.float32)
    for t in range(T):  #! register-budget
        q = tl.load(q_ptr + t * DK + ik)
        k = tl.load(k_ptr + t * DK + ik)
        v = tl.load(v_ptr + t * DV + iv)
        decay = tl.load(decay_ptr + t)
        state = decay * state + k[:, None] * v[None, :]
        tl.store(o_ptr + t * DV + iv, tl.sum(q[:, None] * state, axis=0))


class ModelNew(nn.Module):
    KEY_DIM = 256
    VALUE_DIM = 128

    def forward(self, q, k, v, decay):
        heads, T, _ = q.shape
        o = torch.empty_like(v)
        gla_kernel[(heads,)](
            q.contiguous(), k.contiguous(), v.contiguous(), decay.contiguous(), o, T,
            DK=256, DV=128, num_warps=1,
        )
        return o


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 3, 256), torch.randn(2, 3, 256), torch.randn(2, 3, 128), torch.rand(2, 3)]
