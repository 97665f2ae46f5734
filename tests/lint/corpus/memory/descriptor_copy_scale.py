# kernel_type: elementwise
# complexity: low
# outcome: works
# near: missing-mask, missing-other
"""Scale a matrix tile by tile; tensor descriptors clip at the edges by themselves."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


def _allocate(size, alignment, stream):
    return torch.empty(size, device="cuda", dtype=torch.int8)


@triton.jit
def scale_tiles(src, dst, rows, cols, factor, TR: tl.constexpr, TC: tl.constexpr):
    r = tl.program_id(0) * TR
    c = tl.program_id(1) * TC
    source = tl.make_tensor_descriptor(src, shape=[rows, cols], strides=[cols, 1], block_shape=[TR, TC])
    sink = tl.make_tensor_descriptor(dst, shape=[rows, cols], strides=[cols, 1], block_shape=[TR, TC])
    tile = source.load([r, c])
    sink.store([r, c], tile * factor)


class ModelNew(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        triton.set_allocator(_allocate)
        x = x.contiguous()
        rows, cols = x.shape
        out = torch.empty_like(x)
        scale_tiles[triton.cdiv(rows, 32), triton.cdiv(cols, 64)](x, out, rows, cols, self.factor, TR=32, TC=64)
        return out


def get_init_inputs():
    return [0.5]


def get_inputs():
    return [torch.randn(50, 120)]
