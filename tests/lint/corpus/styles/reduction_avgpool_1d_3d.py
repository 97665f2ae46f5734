# kernel_type: reduction
# complexity: medium
# outcome: works
# near: direct-convolution
"""Average pooling in one and in three dimensions, windows as two-dimensional blocks and as loops."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def avg_pool1d(x, y, length, out_length, stride, pad, size, SIZE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    o = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    k = tl.arange(0, SIZE)
    i = o[:, None] * stride - pad + k[None, :]
    ok = (o[:, None] < out_length) & (k[None, :] < size) & (i >= 0) & (i < length)
    window = tl.load(x + row * length + i, mask=ok, other=0.0)
    tl.store(y + row * out_length + o, tl.sum(window, axis=1) / size, mask=o < out_length)


@triton.jit
def avg_pool3d(x, y, D, H, W, od_n, oh_n, ow_n, stride, pad, size, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    o = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    live = o < od_n * oh_n * ow_n
    ow, oh, od = o % ow_n, (o // ow_n) % oh_n, o // (ow_n * oh_n)
    total = tl.zeros((BLOCK,), tl.float32)
    for tap in range(size * size * size):
        d = od * stride + tap // (size * size) - pad
        h = oh * stride + (tap // size) % size - pad
        w = ow * stride + tap % size - pad
        ok = live & (d >= 0) & (d < D) & (h >= 0) & (h < H) & (w >= 0) & (w < W)
        total += tl.load(x + ((plane * D + d) * H + h) * W + w, mask=ok, other=0.0)
    tl.store(y + plane * od_n * oh_n * ow_n + o, total / (size * size * size), mask=live)


class ModelNew(nn.Module):
    def __init__(self, size, stride, pad):
        super().__init__()
        self.size, self.stride, self.pad = size, stride, pad

    def out(self, n):
        return (n + 2 * self.pad - self.size) // self.stride + 1

    def forward(self, signal, volume):
        b, length = signal.shape
        line = signal.new_empty(b, self.out(length))
        avg_pool1d[(b, triton.cdiv(line.shape[1], 64))](
            signal, line, length, line.shape[1], self.stride, self.pad, self.size,
            SIZE=triton.next_power_of_2(self.size), BLOCK=64,
        )
        n, c, d, h, w = volume.shape
        cube = volume.new_empty(n, c, self.out(d), self.out(h), self.out(w))
        per_plane = cube[0, 0].numel()
        avg_pool3d[(n * c, triton.cdiv(per_plane, 128))](
            volume, cube, d, h, w, *cube.shape[2:], self.stride, self.pad, self.size, BLOCK=128
        )
        return line, cube


def get_init_inputs():
    return [3, 2, 1]


def get_inputs():
    return [torch.randn(4, 50), torch.randn(1, 2, 9, 10, 11)]
