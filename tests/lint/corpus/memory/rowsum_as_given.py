# kernel_type: reduction
# complexity: medium
# outcome: works
# near: missing-other, missing-mask, low-precision-accumulator
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sum_rows(p, q, n, B: tl.constexpr):
    r = tl.program_id(0)
    s = 0.0
    for o in range(0, n, B):
        k = o + tl.arange(0, B)
        s += tl.sum(tl.load(p + r * n + k, mask=k < n, other=0), 0)
    tl.store(q + r, s)


class ModelNew(nn.Module):
    def forward(self, values):
        out = torch.empty(values.shape[0], device=values.device)
        sum_rows[(values.shape[0],)](values, out, values.shape[1], B=512)  #! contiguity-assumed
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(11, 1300)]
