# kernel_type: elementwise
# complexity: low
# outcome: works
# near: meta-parameter-twice, grid-coverage
"""Launch options gathered in dictionaries, and one tuner whose configs leave the number of warps to the launch."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"VEC": 2}, num_warps=None, num_stages=None),
        triton.Config({"VEC": 4}, num_warps=None, num_stages=None),
    ],
    key=["numel"],
)
@triton.jit
def cube(a, b, numel, BLOCK: tl.constexpr, VEC: tl.constexpr):
    start = tl.program_id(0) * BLOCK * VEC
    for v in tl.static_range(VEC):
        at = start + v * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(a + at, mask=at < numel)
        tl.store(b + at, x * x * x, mask=at < numel)


@triton.jit
def negate(a, b, numel, BLOCK: tl.constexpr, TIMES: tl.constexpr = 1):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(a + at, mask=at < numel)
    for _ in tl.static_range(TIMES):
        x = -x
    tl.store(b + at, x, mask=at < numel)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.options = {"BLOCK": 256, "num_warps": 2}

    def forward(self, x):
        x = x.contiguous()
        n = x.numel()
        cubed = torch.empty_like(x)
        cube[lambda meta: (triton.cdiv(n, meta["BLOCK"] * meta["VEC"]),)](x, cubed, n, **self.options)
        out = torch.empty_like(x)
        launch = dict(BLOCK=512)
        launch.update(TIMES=3)
        negate[(triton.cdiv(n, launch["BLOCK"]),)](cubed, out, n, **launch, num_warps=4)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(40, 50)]
