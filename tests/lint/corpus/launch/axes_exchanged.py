# kernel_type: elementwise
# complexity: low
# outcome: works
"""A tile of rows and columns: the grid counts columns on the axis where the kernel counts rows."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"R": 16, "C": 128}, num_warps=4),
        triton.Config({"R": 32, "C": 64}, num_warps=4),
    ],
    key=["rows", "cols"],
)
@triton.jit
def add_row_vector(x_ptr, v_ptr, y_ptr, rows, cols, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.program_id(1) * C + tl.arange(0, C)
    inside = (r[:, None] < rows) & (c[None, :] < cols)
    at = r[:, None] * cols + c[None, :]
    v = tl.load(v_ptr + c, mask=c < cols, other=0.0)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=inside) + v[None, :], mask=inside)


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.v = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        rows, cols = x.shape
        x = x.contiguous()
        y = torch.empty_like(x)
        grid = lambda meta: (
            triton.cdiv(cols, meta["C"]),  #! grid-coverage
            triton.cdiv(rows, meta["R"]),  #! grid-coverage
        )
        add_row_vector[grid](x, self.v, y, rows, cols)
        return y


def get_init_inputs():
    return [100]


def get_inputs():
    return [torch.randn(77, 100)]
