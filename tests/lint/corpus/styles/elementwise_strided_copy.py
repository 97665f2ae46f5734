# kernel_type: elementwise
# complexity: low
# outcome: works
"""Copy of any strided tensor: the offset is summed up dimension by dimension from loaded sizes and strides."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gather_strided(src, dst, sizes, strides, total, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    flat = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = flat < total
    rest = flat
    offset = tl.zeros((BLOCK,), tl.int32)
    for i in range(NDIM):
        size = tl.load(sizes + NDIM - 1 - i)
        offset += (rest % size) * tl.load(strides + NDIM - 1 - i)
        rest = rest // size
    tl.store(dst + flat, tl.load(src + offset, mask=live), mask=live)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.permute(2, 0, 1)
        y = torch.empty(x.shape, device=x.device, dtype=x.dtype)
        sizes = torch.tensor(x.shape, dtype=torch.int32, device=x.device)
        strides = torch.tensor(x.stride(), dtype=torch.int32, device=x.device)
        total = x.numel()
        gather_strided[(triton.cdiv(total, 256),)](x, y, sizes, strides, total, NDIM=x.dim(), BLOCK=256)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(5, 6, 7)]
