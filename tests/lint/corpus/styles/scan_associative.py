# kernel_type: scan
# complexity: high
# outcome: works
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def keep_larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def cummax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + i, mask=i < n, other=float("-inf"))
    tl.store(y_ptr + row * n + i, tl.associative_scan(x, 0, keep_larger), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, n = x.shape
        y = torch.empty_like(x)
        cummax[(rows,)](x, y, n, BLOCK=triton.next_power_of_2(n))
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(5, 300)]
