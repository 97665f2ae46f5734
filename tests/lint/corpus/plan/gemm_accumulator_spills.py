# kernel_type: gemm
# complexity: medium
# outcome: works
# near: no-tensor-core, grid-coverage
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def big_tile_matmul(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BLOCK_M: tl.constexpr = 256, BLOCK_N: tl.constexpr = 256, BLOCK_K: tl.constexpr = 32,
):
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):  #! register-budget
        rk = k + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rm[:, None] * K + rk[None, :], mask=(rm < M)[:, None] & (rk < K)[None, :], other=0.0)
        b = tl.load(b_ptr + rk[:, None] * N + rn[None, :], mask=(rk < K)[:, None] & (rn < N)[None, :], other=0.0)
        acc = tl.dot(a.to(tl.bfloat16), b.to(tl.bfloat16), acc)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm < M)[:, None] & (rn < N)[None, :])


class ModelNew(nn.Module):
    def forward(self, a, b):
        M, K = a.shape
        N = b.shape[1]
        c = torch.empty(M, N, device=a.device, dtype=a.dtype)
        grid = (triton.cdiv(M, 256), triton.cdiv(N, 256))
        big_tile_matmul[grid](a.contiguous(), b.contiguous(), c, M, N, K, num_warps=4)
        return c


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(300, 64), torch.randn(64, 280)]
