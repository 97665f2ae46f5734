# kernel_type: convolution
# complexity: medium
# outcome: works
# near: scalar-vector-loop, no-tensor-core
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv2d_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr,
    C_in, H, W, C_out, H_out, W_out,
    stride, padding,
    KH: tl.constexpr, KW: tl.constexpr, BLOCK: tl.constexpr,
):
    pid_nc = tl.program_id(0)
    n = pid_nc // C_out
    co = pid_nc % C_out
    offs = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < H_out * W_out
    oh = offs // W_out
    ow = offs % W_out
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for ci in range(C_in):  #! direct-convolution
        for kh in range(KH):
            for kw in range(KW):
                ih = oh * stride + kh - padding
                iw = ow * stride + kw - padding
                inside = mask & (ih >= 0) & (ih < H) & (iw >= 0) & (iw < W)
                x = tl.load(x_ptr + ((n * C_in + ci) * H + ih) * W + iw, mask=inside, other=0.0)
                w = tl.load(w_ptr + ((co * C_in + ci) * KH + kh) * KW + kw)
                acc += x * w
    acc += tl.load(b_ptr + co)
    tl.store(y_ptr + pid_nc * H_out * W_out + offs, acc, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride=stride, padding=padding)
        self.stride, self.padding = stride, padding

    def forward(self, x):
        x = x.contiguous()
        N, C_in, H, W = x.shape
        C_out, _, KH, KW = self.conv.weight.shape
        H_out = (H + 2 * self.padding - KH) // self.stride + 1
        W_out = (W + 2 * self.padding - KW) // self.stride + 1
        y = torch.empty(N, C_out, H_out, W_out, device=x.device, dtype=x.dtype)
        grid = (N * C_out, triton.cdiv(H_out * W_out, 128))
        conv2d_kernel[grid](
            x, self.conv.weight, self.conv.bias, y, C_in, H, W, C_out, H_out, W_out,
            self.stride, self.padding, KH=KH, KW=KW, BLOCK=128,
        )
        return y


def get_init_inputs():
    return [3, 5, 3, 1, 1]


def get_inputs():
    return [torch.randn(2, 3, 12, 12)]
