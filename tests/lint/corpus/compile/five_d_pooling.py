# kernel_type: reduction
# complexity: medium
# outcome: fails
import torch
import torch.nn as nn
import triton
from triton.language import arange, constexpr, load, num_programs, program_id, store, zeros, float32


@triton.jit
def pool3d(vol, res, D, H, W, OD, OH, OW, K: constexpr, XB: constexpr):
    nc = program_id(axis=0)
    od = program_id(axis=1) // OH
    oh = program_id(axis=1) % OH
    step = num_programs(axis=3)  #! grid-axis
    ow = program_id(axis=2) * XB + arange(0, XB) * step
    total = zeros((XB,), dtype=float32)
    for i in range(K * K * K):
        d = od * K + i // (K * K)
        h = oh * K + (i // K) % K
        w = ow * K + i % K
        total += load(vol + ((nc * D + d) * H + h) * W + w, mask=w < W, other=0.0)
    store(res + ((nc * OD + od) * OH + oh) * OW + ow, total / (K * K * K), mask=ow < OW)


class ModelNew(nn.Module):
    def __init__(self, kernel_size: int):
        super().__init__()
        self.k = kernel_size

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        n, c, d, h, w = x.shape
        k = self.k
        out = x.new_empty((n, c, d // k, h // k, w // k))
        od, oh, ow = out.shape[2:]
        pool3d[(n * c, od * oh, triton.cdiv(ow, 32))](x, out, d, h, w, od, oh, ow, K=k, XB=32)
        return out


def get_init_inputs():
    return [2]


def get_inputs():
    return [torch.randn(1, 2, 4, 6, 10)]
