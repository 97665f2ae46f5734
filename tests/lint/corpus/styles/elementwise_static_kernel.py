# kernel_type: elementwise
# complexity: low
# outcome: works
"""Kernel as a static attribute of the module; nearest upsampling by index arithmetic, int64 offsets."""
import torch
import triton
import triton.language as tl


class ModelNew(torch.nn.Module):
    @staticmethod
    @triton.jit
    def upsample(src, dst, H, W, total, SCALE: tl.constexpr, BLOCK: tl.constexpr):
        flat = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = flat < total
        ow = flat % (W * SCALE)
        rest = flat // (W * SCALE)
        oh = rest % (H * SCALE)
        plane = rest // (H * SCALE)
        at = (plane * H + oh // SCALE) * W + ow // SCALE
        tl.store(dst + flat, tl.load(src + at, mask=inside), mask=inside)

    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        n, c, h, w = x.shape
        out = x.new_empty(n, c, h * self.scale, w * self.scale)
        total = out.numel()
        self.upsample[(triton.cdiv(total, 1024),)](x.contiguous(), out, h, w, total, SCALE=self.scale, BLOCK=1024)
        return out


def get_init_inputs():
    return [2]


def get_inputs():
    return [torch.randn(2, 3, 9, 11)]
