# kernel_type: hybrid
# complexity: low
# outcome: works
# near: decoy-kernel, no-triton-launch
"""cuBLAS multiplies; the kernel adds a bias, which the same PyTorch call would have done for nothing."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_bias_kernel(y_ptr, bias_ptr, out_ptr, n_elements, n_cols, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    y = tl.load(y_ptr + offsets, mask=mask, other=0.0)
    bias = tl.load(bias_ptr + offsets % n_cols, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, y + bias, mask=mask)


def triton_add_bias(y: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    y = y.contiguous()
    out = torch.empty_like(y)
    n = y.numel()
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK_SIZE"]),)
    add_bias_kernel[grid](y, bias, out, n, y.shape[-1], BLOCK_SIZE=1024)
    return out


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out_features, in_features))
        self.bias = nn.Parameter(torch.randn(out_features))

    def forward(self, x):
        y = torch.matmul(x, self.weight.t())  #! torch-does-the-work
        return triton_add_bias(y, self.bias)


def get_init_inputs():
    return [40, 72]


def get_inputs():
    return [torch.randn(12, 40)]
