# kernel_type: elementwise
# complexity: low
# outcome: fails
# task: self
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_kernel(a_ptr, b_ptr, c_ptr, n_elements, factor, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    a = tl.load(a_ptr + offsets, mask=mask)
    b = tl.load(b_ptr + offsets, mask=mask)
    tl.store(c_ptr + offsets, (a + b) * factor, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x, y, scale):  #! interface-mismatch
        x = x.contiguous()
        y = y.contiguous()
        factor = self.factor * scale
        out = torch.empty_like(x)
        n = x.numel()
        add_kernel[(triton.cdiv(n, 512),)](x, y, out, n, factor, BLOCK_SIZE=512)
        return out


def get_init_inputs():
    return [1.5]


def get_inputs():
    return [torch.randn(1000), torch.randn(1000)]
