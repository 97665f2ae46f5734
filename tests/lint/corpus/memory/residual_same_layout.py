# kernel_type: elementwise
# complexity: low
# outcome: works
# near: stride-reuse, int32-overflow, missing-mask, contiguity-assumed
"""y = relu(x + r) with one set of strides: all three tensors are contiguous and of one shape."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_relu(x, r, y, n, pitch, BLOCK: tl.constexpr):
    row = tl.program_id(1).to(tl.int64)
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = row * pitch + c
    keep = c < n
    total = tl.load(x + at, mask=keep) + tl.load(r + at, mask=keep)
    tl.store(y + at, tl.maximum(total, 0.0), mask=keep)


def residual(x: torch.Tensor, r: torch.Tensor) -> torch.Tensor:
    assert x.shape == r.shape
    x = x.contiguous()
    r = r.contiguous()
    rows, n = x.shape
    y = torch.empty((rows, n), device=x.device, dtype=x.dtype)
    scratch = torch.empty_like(x)
    add_relu[(triton.cdiv(n, 256), rows)](x, r, scratch, n, x.stride(0), BLOCK=256)
    add_relu[(triton.cdiv(n, 256), rows)](scratch, r, y, n, x.stride(0), BLOCK=256)
    return y


class ModelNew(nn.Module):
    def forward(self, x, r):
        return residual(x, r)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(10, 300), torch.randn(10, 300)]
