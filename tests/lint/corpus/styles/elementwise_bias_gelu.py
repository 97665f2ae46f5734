# kernel_type: elementwise
# complexity: low
# outcome: works
import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _tanh(z):
    return 2.0 * tl.sigmoid(2.0 * z) - 1.0


@triton.jit
def bias_gelu_kernel(x_ptr, bias_ptr, out_ptr, n_elements, n_features, SQRT_2_OVER_PI: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + offsets % n_features, mask=mask, other=0.0).to(tl.float32)
    x = x + bias
    inner = SQRT_2_OVER_PI * (x + 0.044715 * x * x * x)
    y = 0.5 * x * (1.0 + _tanh(inner))
    tl.store(out_ptr + offsets, y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        out = torch.empty_like(x)
        n_elements = x.numel()
        grid = lambda meta: (triton.cdiv(n_elements, meta["BLOCK"]),)
        bias_gelu_kernel[grid](
            x, self.bias, out, n_elements, x.shape[-1], SQRT_2_OVER_PI=math.sqrt(2.0 / math.pi), BLOCK=1024
        )
        return out


def get_init_inputs():
    return [96]


def get_inputs():
    return [torch.randn(4, 50, 96)]
