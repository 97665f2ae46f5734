# kernel_type: gemm
# complexity: medium
# outcome: works
# near: autotune-on-persistent, register-budget, grid-coverage, no-tensor-core
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64}, num_stages=3, num_warps=8),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}, num_stages=3, num_warps=8),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 32}, num_stages=4, num_warps=4),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def matmul_persistent(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    NUM_SMS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """One program per SM walks over output tiles; nothing is carried from one tile to the next."""
    start = tl.program_id(0)
    tiles_n = tl.cdiv(N, BLOCK_N)
    tiles = tl.cdiv(M, BLOCK_M) * tiles_n
    for tile in range(start, tiles, NUM_SMS):
        offs_m = (tile // tiles_n) * BLOCK_M + tl.arange(0, BLOCK_M)
        offs_n = (tile % tiles_n) * BLOCK_N + tl.arange(0, BLOCK_N)
        offs_k = tl.arange(0, BLOCK_K)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for ki in range(tl.cdiv(K, BLOCK_K)):
            k = ki * BLOCK_K + offs_k
            a = tl.load(a_ptr + offs_m[:, None] * stride_am + k[None, :] * stride_ak,
                        mask=(offs_m < M)[:, None] & (k < K)[None, :], other=0.0)
            b = tl.load(b_ptr + k[:, None] * stride_bk + offs_n[None, :] * stride_bn,
                        mask=(k < K)[:, None] & (offs_n < N)[None, :], other=0.0)
            acc = tl.dot(a, b, acc, allow_tf32=False)
        tl.store(c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn, acc.to(tl.float16),
                 mask=(offs_m < M)[:, None] & (offs_n < N)[None, :])


class ModelNew(nn.Module):
    def forward(self, a, b):
        a, b = a.half(), b.half()
        M, K = a.shape
        N = b.shape[1]
        c = torch.empty((M, N), device=a.device, dtype=torch.float16)
        sms = 132
        grid = lambda META: (min(sms, triton.cdiv(M, META["BLOCK_M"]) * triton.cdiv(N, META["BLOCK_N"])),)
        matmul_persistent[grid](
            a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), NUM_SMS=sms
        )
        return c


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(200, 300), torch.randn(300, 150)]
