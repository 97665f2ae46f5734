# kernel_type: gemm
# complexity: medium
# outcome: works
# near: grid-coverage, autotune-key-missing
"""Fewer programs than tiles, and every program walks on: a grid-stride loop and a persistent GEMM."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_stride(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    step = tl.num_programs(0) * BLOCK
    for start in range(first, n, step):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n)
        tl.store(y_ptr + at, tl.maximum(x, 0.0), mask=at < n)


@triton.jit
def matmul_persistent(
    a_ptr, b_ptr, c_ptr, M, N, K, sa, sb, sc,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WORKERS: tl.constexpr,
):
    start = tl.program_id(0)
    tiles_n = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * tiles_n
    for tile in range(start, tiles, WORKERS):
        rm = (tile // tiles_n) * BM + tl.arange(0, BM)
        rn = (tile % tiles_n) * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for k0 in range(0, K, BK):
            rk = k0 + tl.arange(0, BK)
            a = tl.load(a_ptr + rm[:, None] * sa + rk, mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
            b = tl.load(b_ptr + rk[:, None] * sb + rn, mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
            acc += tl.dot(a.to(tl.float16), b.to(tl.float16))
        tl.store(c_ptr + rm[:, None] * sc + rn, acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self, k, n):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(k, n))
        self.workers = torch.cuda.get_device_properties("cuda").multi_processor_count

    def forward(self, x):
        x = x.contiguous()
        active = torch.empty_like(x)
        relu_stride[(256,)](x, active, x.numel(), BLOCK=1024)
        m, k = x.shape
        n = self.weight.shape[1]
        out = torch.empty(m, n, device=x.device)
        grid = lambda meta: (min(self.workers, triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"])),)
        matmul_persistent[grid](
            active, self.weight, out, m, n, k, active.stride(0), self.weight.stride(0), out.stride(0),
            BM=64, BN=64, BK=32, WORKERS=min(self.workers, triton.cdiv(m, 64) * triton.cdiv(n, 64)), num_warps=4,
        )
        return out


def get_init_inputs():
    return [70, 90]


def get_inputs():
    return [torch.randn(130, 70)]
