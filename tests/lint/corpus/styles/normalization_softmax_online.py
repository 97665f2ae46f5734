# kernel_type: normalization
# complexity: medium
# outcome: works
# near: unsafe-exp
"""Softmax over long rows: one pass for maximum and denominator together, one pass to write. Halfs in, halfs out."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def online_softmax(src, dst, width, SPAN: tl.constexpr):
    line = tl.program_id(0).to(tl.int64) * width
    peak = tl.full([SPAN], -1.0e30, tl.float32)
    mass = tl.zeros([SPAN], tl.float32)
    lane = tl.arange(0, SPAN)
    for at in range(0, width, SPAN):
        here = at + lane
        z = tl.load(src + line + here, mask=here < width, other=-1.0e30).to(tl.float32)
        higher = tl.maximum(peak, z)
        mass = mass * tl.exp(peak - higher) + tl.where(here < width, tl.exp(z - higher), 0.0)
        peak = higher
    summit = tl.max(peak, 0)
    whole = tl.sum(mass * tl.exp(peak - summit), 0)
    for at in range(0, width, SPAN):
        here = at + lane
        z = tl.load(src + line + here, mask=here < width, other=0.0).to(tl.float32)
        tl.store(dst + line + here, (tl.exp(z - summit) / whole).to(dst.dtype.element_ty), mask=here < width)


class ModelNew(nn.Module):
    def forward(self, scores):
        scores = scores.contiguous()
        rows = scores.shape[:-1].numel()
        out = torch.empty_like(scores)
        online_softmax[(rows,)](scores, out, scores.shape[-1], SPAN=1024)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(3, 4, 5000).half()]
