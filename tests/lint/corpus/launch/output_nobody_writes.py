# kernel_type: reduction
# complexity: low
# outcome: works
"""Three outputs, three ways to forget one: not passed, passed but only read, written under the wrong name."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def moments(x_ptr, mean_ptr, var_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0)
    mean = tl.sum(x, axis=0) / cols
    d = tl.where(c < cols, x - mean, 0.0)
    var = tl.sum(d * d, axis=0) / cols
    tl.store(mean_ptr + row, mean)
    tl.store(mean_ptr + row, var)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        mean = torch.empty(rows, device=x.device, dtype=x.dtype)
        var = torch.empty(rows, device=x.device, dtype=x.dtype)  #! output-not-written
        count = torch.empty(rows, device=x.device, dtype=x.dtype)  #! output-not-written
        moments[(rows,)](x, mean, var, cols, BLOCK=triton.next_power_of_2(cols))
        return mean, var, count


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(10, 33)]
