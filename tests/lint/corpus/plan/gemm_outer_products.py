# kernel_type: gemm
# complexity: medium
# outcome: works
# near: scalar-vector-loop, direct-convolution
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(A, B, C, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(K):
        a = tl.load(A + rows * K + k, mask=rows < M, other=0.0)
        b = tl.load(B + k * N + cols, mask=cols < N, other=0.0)
        acc += a[:, None] * b[None, :]  #! no-tensor-core
    c_mask = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(C + rows[:, None] * N + cols[None, :], acc, mask=c_mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        A, B = A.contiguous(), B.contiguous()
        M, K = A.shape
        N = B.shape[1]
        C = torch.empty((M, N), device=A.device, dtype=A.dtype)
        grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
        matmul_kernel[grid](A, B, C, M, N, K, BLOCK_M=32, BLOCK_N=32)
        return C


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(50, 40), torch.randn(40, 60)]
