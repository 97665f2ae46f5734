# kernel_type: reduction
# complexity: medium
# outcome: works
# near: time-loop-on-host, small-launch-count, direct-convolution
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def halve(x_ptr, y_ptr, out_w, out_pixels, in_w, BLOCK: tl.constexpr):
    plane = tl.program_id(1)
    p = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = p < out_pixels
    oy, ox = p // out_w, p % out_w
    base = x_ptr + plane * out_pixels * 4 + (2 * oy) * in_w + 2 * ox
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for dy in tl.static_range(2):
        for dx in tl.static_range(2):
            total += tl.load(base + dy * in_w + dx, mask=m, other=0.0)
    tl.store(y_ptr + plane * out_pixels + p, 0.25 * total, mask=m)


class ModelNew(nn.Module):
    """An image pyramid: each level is half the one before. Three launches, whatever the data."""

    LEVELS = 3

    def forward(self, x):
        n, c, h, w = x.shape
        levels = []
        x = x.contiguous()
        for _ in range(self.LEVELS):
            h, w = h // 2, w // 2
            y = torch.empty(n, c, h, w, device=x.device, dtype=x.dtype)
            halve[(triton.cdiv(h * w, 256), n * c)](x, y, w, h * w, 2 * w, BLOCK=256)
            levels.append(y)
            x = y
        return levels


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 3, 16, 16)]
