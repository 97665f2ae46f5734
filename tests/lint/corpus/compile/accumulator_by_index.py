# kernel_type: reduction
# complexity: medium
# outcome: fails
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def window_max_kernel(inp, out, length, n_windows, KERNEL: tl.constexpr, STRIDE: tl.constexpr, BLOCK: tl.constexpr):
    channel = tl.program_id(1)
    w = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    best = tl.full((BLOCK,), float("-inf"), tl.float32)
    for i in range(BLOCK):
        for k in range(KERNEL):
            pos = (tl.program_id(0) * BLOCK + i) * STRIDE + k
            v = tl.load(inp + channel * length + pos, mask=pos < length, other=float("-inf"))
            best[i] = tl.maximum(best[i], v)  #! tensor-indexing
    tl.store(out + channel * n_windows + w, best, mask=w < n_windows)


class ModelNew(nn.Module):
    def __init__(self, kernel_size, stride):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, stride

    def forward(self, x):
        x = x.contiguous()
        channels, length = x.shape
        n_windows = (length - self.kernel_size) // self.stride + 1
        out = torch.empty(channels, n_windows, device=x.device, dtype=x.dtype)
        grid = (triton.cdiv(n_windows, 64), channels)
        window_max_kernel[grid](x, out, length, n_windows, KERNEL=self.kernel_size, STRIDE=self.stride, BLOCK=64)
        return out


def get_init_inputs():
    return [3, 2]


def get_inputs():
    return [torch.randn(4, 131)]
