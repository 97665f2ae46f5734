# kernel_type: gemm
# complexity: high
# outcome: works
# near: grid-coverage, output-not-written
"""Stream-K: every program takes an equal share of all K-steps; tiles cut in two are added under a lock."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_under_lock(c_ptrs, acc, lock_ptr, mask):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    old = tl.load(c_ptrs, mask=mask, other=0.0)
    tl.store(c_ptrs, old + acc, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def stream_k(A, B, C, locks, M, N, K, steps_per_program, total_steps,
             BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    steps_per_tile = tl.cdiv(K, BK)
    tiles_n = tl.cdiv(N, BN)
    step = tl.program_id(0) * steps_per_program
    last = tl.minimum(step + steps_per_program, total_steps)
    while step < last:
        tile = step // steps_per_tile
        stop = tl.minimum((tile + 1) * steps_per_tile, last)
        m = (tile // tiles_n) * BM + tl.arange(0, BM)
        n = (tile % tiles_n) * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for s in range(step, stop):
            k = (s % steps_per_tile) * BK + tl.arange(0, BK)
            a = tl.load(A + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
            b = tl.load(B + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
            acc += tl.dot(a, b, input_precision="ieee")
        mask = (m[:, None] < M) & (n[None, :] < N)
        add_under_lock(C + m[:, None] * N + n[None, :], acc, locks + tile, mask)
        step = stop


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.programs = torch.cuda.get_device_properties(0).multi_processor_count

    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        M, K = a.shape
        N = b.shape[1]
        BM = BN = 64
        BK = 32
        tiles = triton.cdiv(M, BM) * triton.cdiv(N, BN)
        total = tiles * triton.cdiv(K, BK)
        c = torch.zeros(M, N, device=a.device)
        locks = torch.zeros(tiles, device=a.device, dtype=torch.int32)
        share = triton.cdiv(total, self.programs)
        stream_k[(self.programs,)](a, b, c, locks, M, N, K, share, total, BM=BM, BN=BN, BK=BK)
        return c


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(130, 300), torch.randn(300, 70)]
