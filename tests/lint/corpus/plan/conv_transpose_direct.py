# kernel_type: convolution
# complexity: medium
# outcome: works
# near: no-tensor-core
import torch
import torch.nn as nn
import triton
import triton.language as L


@triton.jit
def tap_value(x_ptr, w_ptr, n, c, co, oy, ox, ky, kx, cin, cout, h, w, stride, pad, KH: L.constexpr, KW: L.constexpr):
    ty = oy + pad - ky
    tx = ox + pad - kx
    iy = ty // stride
    ix = tx // stride
    hit = (ty >= 0) & (tx >= 0) & (ty % stride == 0) & (tx % stride == 0) & (iy < h) & (ix < w)
    x = L.load(x_ptr + ((n * cin + c) * h + iy) * w + ix, mask=hit, other=0.0)
    k = L.load(w_ptr + ((c * cout + co) * KH + ky) * KW + kx)
    return x * k


@triton.jit
def conv_transpose2d(
    x_ptr, w_ptr, y_ptr, cin, cout, h, w, oh, ow, stride, pad,
    KH: L.constexpr, KW: L.constexpr, BLOCK: L.constexpr,
):
    n = L.program_id(2)
    co = L.program_id(1)
    p = L.program_id(0) * BLOCK + L.arange(0, BLOCK)
    oy, ox = p // ow, p % ow
    acc = L.zeros((BLOCK,), L.float32)
    for c in range(cin):  #! direct-convolution
        for ky in L.static_range(KH):
            for kx in L.static_range(KW):
                acc += tap_value(x_ptr, w_ptr, n, c, co, oy, ox, ky, kx, cin, cout, h, w, stride, pad, KH, KW)
    L.store(y_ptr + (n * cout + co) * oh * ow + p, acc, mask=p < oh * ow)


def run(x, weight, stride, pad):
    n, cin, h, w = x.shape
    _, cout, KH, KW = weight.shape
    oh = (h - 1) * stride - 2 * pad + KH
    ow = (w - 1) * stride - 2 * pad + KW
    y = torch.empty((n, cout, oh, ow), device=x.device, dtype=x.dtype)
    conv_transpose2d[(triton.cdiv(oh * ow, 256), cout, n)](
        x.contiguous(), weight, y, cin, cout, h, w, oh, ow, stride, pad, KH=KH, KW=KW, BLOCK=256
    )
    return y


class ModelNew(nn.Module):
    def __init__(self, cin, cout, k, stride, pad):
        super().__init__()
        self.up = nn.ConvTranspose2d(cin, cout, k, stride=stride, padding=pad, bias=False)

    def forward(self, x):
        return run(x, self.up.weight, self.up.stride[0], self.up.padding[0])


def get_init_inputs():
    return [4, 6, 4, 2, 1]


def get_inputs():
    return [torch.randn(2, 4, 9, 9)]
