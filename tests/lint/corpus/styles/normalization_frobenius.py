# kernel_type: normalization
# complexity: low
# outcome: works
# near: output-not-written
"""x divided by its Frobenius norm: one kernel adds the squares up, another divides."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def frobenius_squares(src, acc, size, WIDTH: tl.constexpr):
    lane = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    v = tl.load(src + lane, mask=lane < size, other=0.0).to(tl.float32)
    tl.atomic_add(acc, tl.sum(v * v, axis=0))  #! atomic-order


@triton.jit
def divide_by_root(src, acc, dst, size, WIDTH: tl.constexpr):
    lane = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    norm = tl.sqrt(tl.load(acc))
    tl.store(dst + lane, tl.load(src + lane, mask=lane < size) / norm, mask=lane < size)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        size = x.numel()
        squares = torch.zeros(1, device=x.device, dtype=torch.float32)
        y = torch.empty_like(x)
        grid = (triton.cdiv(size, 2048),)
        frobenius_squares[grid](x, squares, size, WIDTH=2048)
        divide_by_root[grid](x, squares, y, size, WIDTH=2048)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(5, 1500)]
