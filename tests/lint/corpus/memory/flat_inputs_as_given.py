# kernel_type: elementwise
# complexity: low
# outcome: works
# near: missing-mask, grid-coverage
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lerp(a_ptr, b_ptr, out_ptr, weight, n, BLOCK: tl.constexpr):
    idx = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = idx < n
    a = tl.load(a_ptr + idx, mask=mask)
    b = tl.load(b_ptr + idx, mask=mask)
    tl.store(out_ptr + idx, a + weight * (b - a), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = weight

    def forward(self, a, b):
        out = torch.empty_like(a)
        n = out.numel()
        grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
        lerp[grid](a, b, out, self.weight, n, BLOCK=512)  #! contiguity-assumed
        return out


def get_init_inputs():
    return [0.3]


def get_inputs():
    return [torch.randn(20, 30), torch.randn(20, 30)]
