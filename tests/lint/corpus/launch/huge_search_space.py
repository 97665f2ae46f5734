# kernel_type: gemm
# complexity: medium
# outcome: works
import torch
import torch.nn as nn
import triton
import triton.language as tl


def get_configs():
    return [
        triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}, num_stages=s, num_warps=w)
        for m in [32, 64, 128]
        for n in [32, 64, 128]
        for k in [32, 64]
        for s in [2, 3, 4]
        for w in [4, 8]
    ]


@triton.autotune(configs=get_configs(), key=["M", "N", "K"])  #! too-many-configs
@triton.jit
def linear_kernel(
    x_ptr, w_ptr, y_ptr, M, N, K, stride_xm, stride_wn, stride_ym,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    pid = tl.program_id(0)
    grid_n = tl.cdiv(N, BLOCK_N)
    offs_m = (pid // grid_n) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = (pid % grid_n) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        k_left = offs_k < K - k * BLOCK_K
        x = tl.load(
            x_ptr + offs_m[:, None] * stride_xm + k * BLOCK_K + offs_k[None, :],
            mask=(offs_m < M)[:, None] & k_left[None, :], other=0.0,
        )
        w = tl.load(
            w_ptr + offs_n[None, :] * stride_wn + k * BLOCK_K + offs_k[:, None],
            mask=(offs_n < N)[None, :] & k_left[:, None], other=0.0,
        )
        acc = tl.dot(x, w, acc, allow_tf32=False)
    y_mask = (offs_m < M)[:, None] & (offs_n < N)[None, :]
    tl.store(y_ptr + offs_m[:, None] * stride_ym + offs_n[None, :], acc, mask=y_mask)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out_features, in_features))

    def forward(self, x):
        M, K = x.shape
        N = self.weight.shape[0]
        y = torch.empty((M, N), device=x.device, dtype=x.dtype)
        grid = lambda META: (triton.cdiv(M, META["BLOCK_M"]) * triton.cdiv(N, META["BLOCK_N"]),)
        linear_kernel[grid](x, self.weight, y, M, N, K, x.stride(0), self.weight.stride(0), y.stride(0))
        return y


def get_init_inputs():
    return [48, 72]


def get_inputs():
    return [torch.randn(20, 48)]
