# kernel_type: reduction
# complexity: low
# outcome: works
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def total_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.atomic_add(out_ptr, tl.sum(x, axis=0))  #! atomic-order


@triton.jit
def count_kernel(ids_ptr, hist_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ids = tl.load(ids_ptr + offs, mask=offs < n, other=0)
    tl.atomic_add(hist_ptr + ids, 1, mask=offs < n)


class ModelNew(nn.Module):
    def __init__(self, bins):
        super().__init__()
        self.bins = bins

    def forward(self, x, ids):
        out = torch.empty(1, device=x.device)  #! output-not-written
        n = x.numel()
        grid = (triton.cdiv(n, 1024),)
        total_kernel[grid](x, out, n, BLOCK=1024)
        hist = ids.new_empty(self.bins, dtype=torch.int32)  #! output-not-written
        count_kernel[grid](ids, hist, n, BLOCK=1024)
        return out / n, hist


def get_init_inputs():
    return [16]


def get_inputs():
    return [torch.randn(3000), torch.randint(0, 16, (3000,))]
