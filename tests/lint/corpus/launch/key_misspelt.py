# kernel_type: elementwise
# complexity: low
# outcome: fails
"""Current releases refuse a key that is no argument; older ones silently tuned once for all sizes."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BM": 32, "BN": 32}, num_warps=4),
        triton.Config({"BM": 64, "BN": 32}, num_warps=4),
    ],
    key=["rows", "columns"],  #! autotune-key-missing
)
@triton.jit
def transpose(x_ptr, y_ptr, rows, cols, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    tile = tl.load(x_ptr + m[:, None] * cols + n[None, :], mask=(m[:, None] < rows) & (n[None, :] < cols))
    tl.store(y_ptr + n[:, None] * rows + m[None, :], tl.trans(tile), mask=(n[:, None] < cols) & (m[None, :] < rows))


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        x = x.contiguous()
        y = torch.empty(cols, rows, device=x.device, dtype=x.dtype)
        transpose[lambda meta: (triton.cdiv(rows, meta["BM"]), triton.cdiv(cols, meta["BN"]))](x, y, rows, cols)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(50, 60)]
