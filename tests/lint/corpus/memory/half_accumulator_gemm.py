# kernel_type: gemm
# complexity: medium
# outcome: works
# near: tf32-implicit, missing-mask, stride-reuse
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gemm_fp16(A, B, C, M, N, K, lda, ldb, ldc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float16)  #! low-precision-accumulator
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        a = tl.load(A + m[:, None] * lda + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(B + k[:, None] * ldb + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(a, b, out_dtype=tl.float16)  #! low-precision-accumulator
    tl.store(C + m[:, None] * ldc + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):
    def forward(self, a, b):
        a, b = a.half().contiguous(), b.half().contiguous()
        M, K = a.shape
        N = b.shape[1]
        c = torch.empty(M, N, dtype=torch.float16, device=a.device)
        gemm_fp16[(triton.cdiv(M, 64), triton.cdiv(N, 64))](
            a, b, c, M, N, K, a.stride(0), b.stride(0), c.stride(0), BM=64, BN=64, BK=32)
        return c


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(80, 100), torch.randn(100, 70)]
