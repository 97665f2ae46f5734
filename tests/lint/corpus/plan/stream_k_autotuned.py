# kernel_type: gemm
# complexity: high
# outcome: works
# near: register-budget, no-tensor-core, output-not-written
"""Split-K with a lock per output tile: programs of one tile add their part in order, no float atomics."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(  #! autotune-on-persistent
    configs=[
        triton.Config({"BM": 64, "BN": 64, "BK": 32}, num_warps=4, num_stages=3),
        triton.Config({"BM": 128, "BN": 64, "BK": 32}, num_warps=4, num_stages=3),
    ],
    key=["M", "N", "K"],
    reset_to_zero=["c_ptr", "locks_ptr"],
)
@triton.jit
def locked_split_k(
    a_ptr, b_ptr, c_ptr, locks_ptr,
    M, N, K,
    SPLIT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    pid_m, pid_n, part = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(part * BK, K, SPLIT * BK):
        rk = k + tl.arange(0, BK)
        a = tl.load(a_ptr + rm[:, None] * K + rk[None, :], mask=(rm < M)[:, None] & (rk < K)[None, :], other=0.0)
        b = tl.load(b_ptr + rk[:, None] * N + rn[None, :], mask=(rk < K)[:, None] & (rn < N)[None, :], other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    lock = locks_ptr + pid_m * tl.num_programs(1) + pid_n
    while tl.atomic_cas(lock, part, part) != part:
        pass
    c_ptrs = c_ptr + rm[:, None] * N + rn[None, :]
    inside = (rm < M)[:, None] & (rn < N)[None, :]
    acc += tl.load(c_ptrs, mask=inside, other=0.0)
    tl.store(c_ptrs, acc, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock, part + 1)


def matmul(a, b, split=4):
    M, K = a.shape
    N = b.shape[1]
    c = torch.zeros(M, N, device=a.device, dtype=torch.float32)
    locks = torch.zeros(triton.cdiv(M, 64) * triton.cdiv(N, 64), device=a.device, dtype=torch.int32)
    grid = lambda META: (triton.cdiv(M, META["BM"]), triton.cdiv(N, META["BN"]), split)
    locked_split_k[grid](a.contiguous(), b.contiguous(), c, locks, M, N, K, SPLIT=split)
    return c


class ModelNew(nn.Module):
    def forward(self, a, b):
        return matmul(a, b)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(70, 500), torch.randn(500, 90)]
