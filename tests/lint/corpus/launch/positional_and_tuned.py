# kernel_type: elementwise
# complexity: low
# outcome: fails
"""The tile size is handed over by position although the tuner will hand it over, too."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


def tuning_space():
    space = []
    for block in (128, 256, 512):
        space.append(triton.Config({"TILE": block}, num_warps=block // 64))
    return space


@triton.autotune(configs=tuning_space(), key=["count"])
@triton.jit
def hard_tanh(src, dst, count, lo, hi, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    v = tl.load(src + i, mask=i < count, other=0.0)
    tl.store(dst + i, tl.minimum(tl.maximum(v, lo), hi), mask=i < count)


class ModelNew(nn.Module):
    def __init__(self, lo=-1.0, hi=1.0):
        super().__init__()
        self.lo = lo
        self.hi = hi

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        count = x.numel()
        hard_tanh[lambda m: (triton.cdiv(count, m["TILE"]),)](
            x, out, count, self.lo, self.hi,
            256,  #! meta-parameter-twice
        )
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(100, 7)]
