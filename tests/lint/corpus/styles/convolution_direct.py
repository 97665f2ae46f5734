# kernel_type: convolution
# complexity: medium
# outcome: works
"""3x3 convolution, one output row segment per program, channels and taps in scalar loops."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv2d_direct(x_ptr, w_ptr, b_ptr, y_ptr, C, H, W, OC, OH, OW, KH, KW, pad, BLOCK_W: tl.constexpr):
    pid_nc = tl.program_id(0)
    oh = tl.program_id(1)
    ow = tl.program_id(2) * BLOCK_W + tl.arange(0, BLOCK_W)
    n = pid_nc // OC
    oc = pid_nc % OC
    acc = tl.zeros((BLOCK_W,), dtype=tl.float32)
    for ic in range(C):  #! direct-convolution
        for kh in range(KH):
            ih = oh + kh - pad
            for kw in range(KW):
                iw = ow + kw - pad
                mask = (ih >= 0) & (ih < H) & (iw >= 0) & (iw < W)
                x = tl.load(x_ptr + ((n * C + ic) * H + ih) * W + iw, mask=mask, other=0.0)
                w = tl.load(w_ptr + ((oc * C + ic) * KH + kh) * KW + kw)
                acc += x * w
    acc += tl.load(b_ptr + oc)
    tl.store(y_ptr + ((n * OC + oc) * OH + oh) * OW + ow, acc, mask=ow < OW)


class ModelNew(nn.Module):
    def __init__(self, cin, cout, k, padding):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, k, padding=padding)

    def forward(self, x):
        x = x.contiguous()
        n, c, h, w = x.shape
        oc, _, kh, kw = self.conv.weight.shape
        pad = self.conv.padding[0]
        oh, ow = h + 2 * pad - kh + 1, w + 2 * pad - kw + 1
        y = torch.empty((n, oc, oh, ow), device=x.device, dtype=x.dtype)
        conv2d_direct[(n * oc, oh, triton.cdiv(ow, 64))](
            x, self.conv.weight, self.conv.bias, y, c, h, w, oc, oh, ow, kh, kw, pad, BLOCK_W=64
        )
        return y


def get_init_inputs():
    return [3, 5, 3, 1]


def get_inputs():
    return [torch.randn(2, 3, 17, 18)]
