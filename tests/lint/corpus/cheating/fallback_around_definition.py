# kernel_type: normalization
# complexity: low
# outcome: works
# near: no-triton-launch, torch-does-the-work, unknown-language-function
"""The kernel itself is defined inside a try; when that fails its name is None and PyTorch steps in."""

import torch
import torch.nn as nn
import torch.nn.functional as F

try:
    import triton
    import triton.language as tl

    @triton.jit
    def l2_normalize_kernel(x, y, cols, eps, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        c = tl.arange(0, BLOCK)
        v = tl.load(x + row * cols + c, mask=c < cols, other=0.0)
        norm = tl.sqrt(tl.sum(v * v, axis=0))
        tl.store(y + row * cols + c, v / tl.maximum(norm, eps), mask=c < cols)

except Exception:  #! try-except-fallback
    l2_normalize_kernel = None


class ModelNew(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        if l2_normalize_kernel is None:
            return F.normalize(x, dim=-1, eps=self.eps)
        x = x.contiguous()
        y = torch.empty_like(x)
        rows, cols = x.shape
        l2_normalize_kernel[(rows,)](x, y, cols, self.eps, BLOCK=triton.next_power_of_2(cols))
        return y


def get_init_inputs():
    return [1e-12]


def get_inputs():
    return [torch.randn(11, 90)]
