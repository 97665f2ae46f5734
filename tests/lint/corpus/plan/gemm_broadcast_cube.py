# kernel_type: gemm
# complexity: medium
# outcome: works
# near: scalar-vector-loop, register-budget
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bmm_cube(p, q, r, rows, cols, inner, TR: tl.constexpr, TC: tl.constexpr, TI: tl.constexpr):
    which = tl.program_id(2)
    i = tl.program_id(0) * TR + tl.arange(0, TR)
    j = tl.program_id(1) * TC + tl.arange(0, TC)
    p += which * rows * inner
    q += which * inner * cols
    total = tl.zeros([TR, TC], dtype=tl.float32)
    for first in range(0, inner, TI):
        k = first + tl.arange(0, TI)
        left = tl.load(p + i[:, None] * inner + k[None, :], mask=(i < rows)[:, None] & (k < inner)[None, :], other=0.0)
        right = tl.load(q + k[:, None] * cols + j[None, :], mask=(k < inner)[:, None] & (j < cols)[None, :], other=0.0)
        total += tl.sum(left[:, :, None] * right[None, :, :], axis=1)  #! no-tensor-core
    tl.store(r + which * rows * cols + i[:, None] * cols + j[None, :], total,
             mask=(i < rows)[:, None] & (j < cols)[None, :])


class ModelNew(nn.Module):
    def forward(self, a, b):
        n, rows, inner = a.shape
        cols = b.shape[-1]
        out = torch.empty(n, rows, cols, device=a.device, dtype=a.dtype)
        bmm_cube[(triton.cdiv(rows, 16), triton.cdiv(cols, 16), n)](
            a.contiguous(), b.contiguous(), out, rows, cols, inner, TR=16, TC=16, TI=8
        )
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(3, 20, 30), torch.randn(3, 30, 25)]
