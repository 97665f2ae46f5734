# kernel_type: gemm
# complexity: medium
# outcome: works
# near: missing-mask, grid-coverage, tf32-implicit, low-precision-accumulator
"""A projection of 256 features to 128, written for exactly these sizes."""
import torch
import torch.nn as nn
import triton
import triton.language as tl

ROWS: int = 512
FEATURES: int = 256
HIDDEN: int = 128


@triton.jit
def project(x, w, y, F_IN: tl.constexpr, F_OUT: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    outs = tl.arange(0, F_OUT)
    ks = tl.arange(0, BK)
    acc = tl.zeros((BM, F_OUT), dtype=tl.float32)
    for k in tl.static_range(0, F_IN, BK):
        xt = tl.load(x + rows[:, None] * F_IN + (k + ks)[None, :]).to(tl.float16)
        wt = tl.load(w + (k + ks)[:, None] * F_OUT + outs[None, :]).to(tl.float16)
        acc = tl.dot(xt, wt, acc=acc)
    tl.store(y + rows[:, None] * F_OUT + outs[None, :], acc)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(FEATURES, HIDDEN) / 16)

    def forward(self, x):
        if x.shape != (ROWS, FEATURES):
            raise ValueError("this model takes 512 x 256")
        x = x.contiguous()
        y = torch.empty((ROWS, HIDDEN), device=x.device, dtype=torch.float32)
        project[(ROWS // 64,)](x, self.w, y, FEATURES, HIDDEN, BM=64, BK=64, num_warps=8)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(512, 256)]
