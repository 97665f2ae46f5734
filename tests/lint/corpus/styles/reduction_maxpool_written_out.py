# kernel_type: reduction
# complexity: low
# outcome: works
"""2x2 max pooling after ReLU, the window written out as four loads."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_pool(src, dst, total, h_out, w_out, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = o < total
    w = o % w_out
    h = (o // w_out) % h_out
    plane = o // (w_out * h_out)
    width = 2 * w_out
    base = src + plane * (4 * h_out * w_out) + (2 * h) * width + 2 * w
    a = tl.load(base, mask=live, other=0.0)
    b = tl.load(base + 1, mask=live, other=0.0)
    c = tl.load(base + width, mask=live, other=0.0)
    d = tl.load(base + width + 1, mask=live, other=0.0)
    top = tl.maximum(tl.maximum(a, b), tl.maximum(c, d))
    tl.store(dst + o, tl.maximum(top, 0.0), mask=live)


class ModelNew(nn.Module):
    def forward(self, x):
        n, c, h, w = x.shape
        assert h % 2 == 0 and w % 2 == 0
        y = x.new_empty(n, c, h // 2, w // 2)
        total = y.numel()
        relu_pool[(triton.cdiv(total, 512),)](x.contiguous(), y, total, h // 2, w // 2, BLOCK=512)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 3, 14, 18)]
