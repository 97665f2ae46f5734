# kernel_type: elementwise
# complexity: low
# outcome: works
# near: autotune-key-missing, too-many-configs, meta-parameter-twice
"""Keys as tuple, as a name, through a wrapper, and an empty one where nothing about sizes varies."""
import torch
import torch.nn as nn
import triton
import triton.language as tl

SIZES = ["n"]


@triton.autotune([triton.Config({"B": 128}), triton.Config({"B": 256})], SIZES)
@triton.jit
def plus_one(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) + 1.0, mask=i < n)


def tuned(*key):
    space = [triton.Config({"B": b}, num_warps=w) for b in (256, 512) for w in (2, 4)]
    return triton.autotune(configs=space, key=list(key))


@tuned("n")
@triton.jit
def times_two(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)


@triton.autotune(configs=[triton.Config({}, num_warps=w) for w in (1, 2, 4)], key=[])
@triton.jit
def halve_fixed(x, y, N: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < N) * 0.5, mask=i < N)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        a, b, c = (torch.empty_like(x) for _ in range(3))
        n = x.numel()
        plus_one[lambda m: (triton.cdiv(n, m["B"]),)](x, a, n)
        times_two[lambda m: (triton.cdiv(n, m["B"]),)](a, b, n)
        halve_fixed[(triton.cdiv(n, 512),)](b, c, N=n, B=512)
        return c


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(33, 44)]
