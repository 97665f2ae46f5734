# kernel_type: normalization
# complexity: low
# outcome: works
# near: missing-mask, missing-other
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kernel(in_ptr, out_ptr, ncols, temperature, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    m = offs < ncols
    logits = tl.load(in_ptr + row * ncols + offs, mask=m, other=-float("inf")) / temperature
    num = tl.exp(logits)  #! unsafe-exp
    den = tl.sum(num, axis=0)
    tl.store(out_ptr + row * ncols + offs, num / den, mask=m)


class ModelNew(nn.Module):
    def __init__(self, temperature=1.0):
        super().__init__()
        self.temperature = temperature

    def forward(self, x):
        x = x.contiguous()
        nrows = x.numel() // x.shape[-1]
        ncols = x.shape[-1]
        out = torch.empty_like(x)
        kernel[(nrows,)](x, out, ncols, self.temperature, BLOCK=triton.next_power_of_2(ncols))
        return out


def get_init_inputs():
    return [0.7]


def get_inputs():
    return [torch.randn(16, 130)]
