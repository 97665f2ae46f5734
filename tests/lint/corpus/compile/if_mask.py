# kernel_type: elementwise
# complexity: low
# outcome: fails
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def threshold_kernel(x_ptr, y_ptr, threshold, value, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    if mask:  #! tensor-truth
        x = tl.load(x_ptr + offsets, mask=mask)
        y = tl.where(x > threshold, x, value)
        tl.store(y_ptr + offsets, y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, threshold, value):
        super().__init__()
        self.threshold = threshold
        self.value = value

    def forward(self, x: torch.Tensor):
        x = x.contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        grid = lambda meta: (triton.cdiv(n, meta["BLOCK_SIZE"]),)
        threshold_kernel[grid](x, y, self.threshold, self.value, n, BLOCK_SIZE=1024)
        return y


def get_init_inputs():
    return [0.5, 20.0]


def get_inputs():
    return [torch.randn(31, 65)]
