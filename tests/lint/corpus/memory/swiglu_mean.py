# kernel_type: reduction
# complexity: medium
# outcome: works
# near: unsafe-exp, missing-other, low-precision-accumulator
"""Mean over a row of silu(gate) * up, in float16 data with float32 sums."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silu(x):
    return x / (1.0 + tl.exp(-x))


@triton.jit
def swiglu_mean(gate, up, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    part = tl.zeros((BLOCK,), dtype=tl.float32)
    for begin in range(0, n, BLOCK):
        j = begin + tl.arange(0, BLOCK)
        g = tl.load(gate + row * n + j, mask=j < n, other=0.0).to(tl.float32)
        u = tl.load(up + row * n + j, mask=j < n, other=0.0).to(tl.float32)
        part += silu(g) * u
    mean = tl.sum(part, axis=0) / n
    tl.store(out + row, mean.to(tl.float16))


class ModelNew(nn.Module):
    def forward(self, gate, up):
        gate = gate.half().contiguous()
        up = up.half().contiguous()
        rows, n = gate.shape
        out = torch.empty((rows,), dtype=torch.float16, device=gate.device)
        swiglu_mean[(rows,)](gate, up, out, n, BLOCK=1024)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(5, 2000), torch.randn(5, 2000)]
