# kernel_type: elementwise
# complexity: low
# outcome: works
# near: launch-arguments, grid-axis, arange-runtime-bound, undefined-name
"""Arguments behind stars and partials, from tuners, heuristics and defaults; grids that are no plain tuples."""
import functools

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def copy_kernel(src, dst, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dst + offs, tl.load(src + offs, mask=offs < n) * 2.0, mask=offs < n)


@triton.autotune([triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 512})], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def tuned_kernel(src, dst, n, shift, BLOCK: tl.constexpr, EVEN: tl.constexpr, SCALE: tl.constexpr = 1.0):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(dst + offs, tl.load(src + offs) * SCALE + shift)
    else:
        tl.store(dst + offs, tl.load(src + offs, mask=offs < n) * SCALE + shift, mask=offs < n)


def grid_for(n):
    return lambda meta: (triton.cdiv(n, meta["BLOCK"]), 1, 1)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.meta = {"BLOCK": 128, "num_warps": 2}

    def forward(self, x):
        x = x.contiguous()
        n = x.numel()
        a, b, c, d = (torch.empty_like(x) for _ in range(4))
        args = (x, a, n)
        copy_kernel[grid_for(n)](*args, **self.meta)
        launch = functools.partial(copy_kernel[[triton.cdiv(n, 128)]], a, b)
        launch(n, BLOCK=128)
        tuned_kernel[grid_for(n)](b, c, n, shift=1)
        blocks = triton.cdiv(n, 64),
        copy_kernel[blocks](c, d, n=n, BLOCK=64, num_stages=1, num_ctas=1)
        return d


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(1000)]
