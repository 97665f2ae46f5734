# kernel_type: reduction
# complexity: medium
# outcome: works
# near: missing-mask, missing-other
"""Row sums and row peaks of bfloat16 data. The peak may stay in bfloat16: a maximum does not round."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sums_and_peaks(x, sums, peaks, n, pitch, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.bfloat16)  #! low-precision-accumulator
    peak = tl.full([BLOCK], float("-inf"), tl.bfloat16)
    for s in tl.range(0, n, BLOCK):
        j = s + tl.arange(0, BLOCK)
        v = tl.load(x + row * pitch + j, mask=j < n, other=0.0)
        total = total + v
        peak = tl.maximum(peak, tl.where(j < n, v, float("-inf")))
    tl.store(sums + row, tl.sum(total.to(tl.float32), axis=0))
    tl.store(peaks + row, tl.max(peak, axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.to(torch.bfloat16).contiguous()
        rows, n = x.shape
        sums = torch.empty(rows, device=x.device, dtype=torch.float32)
        peaks = torch.empty(rows, device=x.device, dtype=torch.bfloat16)
        sums_and_peaks[(rows,)](x, sums, peaks, n, x.stride(0), BLOCK=256)
        return sums, peaks


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(6, 900)]
