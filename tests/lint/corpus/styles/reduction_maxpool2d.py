# kernel_type: reduction
# complexity: medium
# outcome: works
# near: missing-other, direct-convolution
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def max_pool(
    x_ptr, y_ptr, total, H, W, OH, OW,
    K: tl.constexpr, S: tl.constexpr, P: tl.constexpr, BLOCK: tl.constexpr,
):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = o < total
    ow = o % OW
    oh = (o // OW) % OH
    plane = o // (OW * OH)
    best = tl.full([BLOCK], float("-inf"), tl.float32)
    for kh in tl.static_range(K):
        ih = oh * S + kh - P
        for kw in tl.static_range(K):
            iw = ow * S + kw - P
            ok = live & (ih >= 0) & (ih < H) & (iw >= 0) & (iw < W)
            v = tl.load(x_ptr + (plane * H + ih) * W + iw, mask=ok, other=float("-inf"))
            best = tl.maximum(best, v)
    tl.store(y_ptr + o, best, mask=live)


class ModelNew(nn.Module):
    def __init__(self, kernel_size, stride, padding):
        super().__init__()
        self.k, self.s, self.p = kernel_size, stride, padding

    def forward(self, x):
        n, c, h, w = x.shape
        oh = (h + 2 * self.p - self.k) // self.s + 1
        ow = (w + 2 * self.p - self.k) // self.s + 1
        y = torch.empty(n, c, oh, ow, device=x.device, dtype=x.dtype)
        total = y.numel()
        max_pool[(triton.cdiv(total, 256),)](
            x.contiguous(), y, total, h, w, oh, ow, K=self.k, S=self.s, P=self.p, BLOCK=256
        )
        return y


def get_init_inputs():
    return [3, 2, 1]


def get_inputs():
    return [torch.randn(2, 4, 17, 19)]
