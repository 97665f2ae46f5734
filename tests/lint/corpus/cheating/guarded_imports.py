# kernel_type: normalization
# complexity: medium
# outcome: works
# near: try-except-fallback, torch-does-the-work, environment-sniffing, flags-flipped, no-triton-launch
"""A library's layer norm: Triton may be missing, CPU tensors go to PyTorch, and nothing is caught at the launch."""

import torch
import torch.nn as nn
import torch.nn.functional as F

try:
    import triton
    import triton.language as tl

    HAS_TRITON = True
except ImportError:
    HAS_TRITON = False

try:
    from importlib.metadata import version

    TRITON_VERSION = tuple(int(part) for part in version("triton").split(".")[:2])
except Exception:
    TRITON_VERSION = (0, 0)


@triton.jit
def layer_norm_kernel(X, W, B, Y, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        acc += tl.load(X + row * cols + c, mask=c < cols, other=0.0)
    mean = tl.sum(acc, 0) / cols
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        d = tl.where(c < cols, tl.load(X + row * cols + c, mask=c < cols, other=0.0) - mean, 0.0)
        acc += d * d
    rstd = tl.rsqrt(tl.sum(acc, 0) / cols + eps)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        m = c < cols
        x = tl.load(X + row * cols + c, mask=m, other=0.0)
        w, b = tl.load(W + c, mask=m, other=0.0), tl.load(B + c, mask=m, other=0.0)
        tl.store(Y + row * cols + c, (x - mean) * rstd * w + b, mask=m)


class ModelNew(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        if not x.is_cuda or not HAS_TRITON:
            return F.layer_norm(x, (x.shape[-1],), self.weight, self.bias, self.eps)
        if x.dtype is not torch.float32 and not torch.backends.cuda.matmul.allow_tf32:
            raise TypeError(f"float32 expected, got {x.dtype}")
        try:
            rows, cols = x.shape
        except ValueError as error:
            raise ValueError(f"a matrix is expected, got {x.dim()} dimensions") from error
        x = x.contiguous()
        y = torch.empty_like(x)
        layer_norm_kernel[(rows,)](x, self.weight, self.bias, y, cols, self.eps, BLOCK=256)
        return y


def get_init_inputs():
    return [130]


def get_inputs():
    return [torch.randn(6, 130)]
