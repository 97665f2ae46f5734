# kernel_type: normalization
# complexity: medium
# outcome: fails
"""Python's float, int and len on values that exist only on the device."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rms_kernel(x_ptr, w_ptr, y_ptr, lengths_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    length = int(tl.load(lengths_ptr + row))  #! tensor-truth
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_cols + cols, mask=cols < length, other=0.0)
        total += x * x
    mean = tl.sum(total, axis=0) / float(n_cols)  #! tensor-truth
    scale = tl.rsqrt(mean + 1e-6) * len(total)  #! tensor-truth
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_ptr + row * n_cols + cols, mask=mask)
        w = tl.load(w_ptr + cols, mask=mask)
        tl.store(y_ptr + row * n_cols + cols, x * scale * w, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x, lengths):
        x, lengths = x.contiguous(), lengths.contiguous()
        rows, cols = x.shape
        y = torch.empty_like(x)
        rms_kernel[(rows,)](x, self.weight, y, lengths, cols, BLOCK=512)
        return y


def get_init_inputs():
    return [700]


def get_inputs():
    return [torch.randn(5, 700), torch.full((5,), 700, dtype=torch.int32)]
