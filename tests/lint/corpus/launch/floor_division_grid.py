# kernel_type: elementwise
# complexity: low
# outcome: works
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def swish_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x * tl.sigmoid(x), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        out = torch.empty_like(x)
        n = x.numel()
        BLOCK_SIZE = 1024
        grid = (n // BLOCK_SIZE,)  #! grid-coverage
        swish_kernel[grid](x, out, n, BLOCK_SIZE=BLOCK_SIZE)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 1000)]
