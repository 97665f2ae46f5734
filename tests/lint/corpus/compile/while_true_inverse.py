# kernel_type: elementwise
# complexity: low
# outcome: fails
"""Lambert-W by Newton steps, the way one writes it on the host."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lambert_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, MAX_STEPS: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=1.0)
    w = tl.log(1.0 + x)
    steps = 0
    while True:  #! tensor-truth
        e = tl.exp(w)
        delta = (w * e - x) / (e * (w + 1.0))
        w -= delta
        steps += 1
        if steps >= MAX_STEPS:
            break  #! break-in-kernel
    tl.store(y_ptr + offs, w, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        lambert_kernel[(triton.cdiv(n, 256),)](x, y, n, BLOCK=256, MAX_STEPS=20)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.rand(333) + 0.5]
