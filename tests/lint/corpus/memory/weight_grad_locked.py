# kernel_type: reduction
# complexity: high
# outcome: works
# near: atomic-order, missing-mask, missing-other, low-precision-accumulator
"""Column sums of x * dy in groups: programs of a group take turns under a lock, so nothing is added atomically."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def grouped_columns(X, DY, DW, Lock, stride, N, GROUPS: tl.constexpr, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_N)
    mask = cols < N
    x = tl.load(X + row * stride + cols, mask=mask, other=0).to(tl.float32)
    dy = tl.load(DY + row * stride + cols, mask=mask, other=0).to(tl.float32)
    group = row % GROUPS
    lock = Lock + group
    visited = Lock + GROUPS + group
    place = DW + group * N + cols
    mine = x * dy
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    count = tl.load(visited)
    if count == 0:
        tl.atomic_xchg(visited, 1)
    else:
        mine += tl.load(place, mask=mask)
    tl.store(place, mine, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def add_groups(DW, FINAL, N, GROUPS: tl.constexpr, BLOCK_N: tl.constexpr):
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_N,), dtype=tl.float32)
    for g in range(GROUPS):
        total += tl.load(DW + g * N + cols, mask=cols < N, other=0.0)
    tl.store(FINAL + cols, total, mask=cols < N)


class ModelNew(nn.Module):
    GROUPS = 8

    def forward(self, x, dy):
        x, dy = x.contiguous(), dy.contiguous()
        M, N = x.shape
        locks = torch.zeros(2 * self.GROUPS, dtype=torch.int32, device=x.device)
        partial = torch.zeros((self.GROUPS, N), dtype=torch.float32, device=x.device)
        final = torch.empty(N, dtype=torch.float32, device=x.device)
        grouped_columns[(M,)](x, dy, partial, locks, x.stride(0), N, GROUPS=self.GROUPS,
                              BLOCK_N=triton.next_power_of_2(N))
        add_groups[(triton.cdiv(N, 128),)](partial, final, N, GROUPS=self.GROUPS, BLOCK_N=128)
        return final


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(30, 200), torch.randn(30, 200)]
