"""Each program multiplies a strip of rows by the small matrix, in full float32 precision."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def tall_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, blocks, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    program = tl.program_id(0)
    m = (program // blocks).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = (program % blocks) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        inside = start + k < K
        a_mask = (m < M)[:, None] & inside[None, :]
        b_mask = inside[:, None] & (n < N)[None, :]
        a = tl.load(a_ptr + m[:, None] * K + (start + k)[None, :], mask=a_mask, other=0.0)
        b = tl.load(b_ptr + (start + k)[:, None] * N + n[None, :], mask=b_mask, other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
    tl.store(c_ptr + m[:, None] * N + n[None, :], total, mask=(m < M)[:, None] & (n < N)[None, :])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        A, B = A.contiguous(), B.contiguous()
        M, K = A.shape
        N = B.shape[1]
        C = torch.empty((M, N), device=A.device, dtype=A.dtype)
        blocks = triton.cdiv(N, 16)
        tall_matmul_kernel[(triton.cdiv(M, 128) * blocks,)](
            A, B, C, M, N, K, blocks, BLOCK_M=128, BLOCK_N=16, BLOCK_K=32, num_warps=4
        )
        return C
