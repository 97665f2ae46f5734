# kernel_type: convolution
# complexity: medium
# outcome: works
# near: direct-convolution, no-tensor-core
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def dwconv(inp, wgt, out, C, H, W, OH, OW, K: tl.constexpr, STRIDE: tl.constexpr, PAD: tl.constexpr, TH: tl.constexpr, TW: tl.constexpr):
    nc = tl.program_id(0)
    tiles_w = tl.cdiv(OW, TW)
    th = tl.program_id(1) // tiles_w
    tw = tl.program_id(1) % tiles_w
    oy = th * TH + tl.arange(0, TH)[:, None]
    ox = tw * TW + tl.arange(0, TW)[None, :]
    ch = nc % C
    total = tl.zeros((TH, TW), tl.float32)
    for t in range(K * K):
        iy = oy * STRIDE + t // K - PAD
        ix = ox * STRIDE + t % K - PAD
        ok = (iy >= 0) & (iy < H) & (ix >= 0) & (ix < W)
        total += tl.load(inp + (nc * H + iy) * W + ix, mask=ok, other=0.0) * tl.load(wgt + ch * K * K + t)
    tl.store(out + (nc * OH + oy) * OW + ox, total, mask=(oy < OH) & (ox < OW))


class ModelNew(nn.Module):
    def __init__(self, channels, k, stride):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, k, stride, k // 2, groups=channels, bias=False)

    def forward(self, x):
        n, c, h, w = x.shape
        k, s = self.conv.kernel_size[0], self.conv.stride[0]
        oh, ow = (h + 2 * (k // 2) - k) // s + 1, (w + 2 * (k // 2) - k) // s + 1
        out = x.new_empty((n, c, oh, ow))
        tiles = triton.cdiv(oh, 8) * triton.cdiv(ow, 32)
        dwconv[(n * c, tiles)](
            x.contiguous(), self.conv.weight, out, c, h, w, oh, ow, K=k, STRIDE=s, PAD=k // 2, TH=8, TW=32
        )
        return out


def get_init_inputs():
    return [6, 3, 2]


def get_inputs():
    return [torch.randn(2, 6, 33, 35)]
