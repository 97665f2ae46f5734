# kernel_type: reduction
# complexity: low
# outcome: works
# near: missing-mask, missing-other, output-not-written
"""Sum node features into graphs: out[segment[i]] += x[i]."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scatter_rows(x, segment, out, n, D, ROWS: tl.constexpr, COLS: tl.constexpr):
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    d = tl.program_id(1) * COLS + tl.arange(0, COLS)
    seg = tl.load(segment + i, mask=i < n, other=0)
    keep = (i < n)[:, None] & (d < D)[None, :]
    v = tl.load(x + i[:, None] * D + d[None, :], mask=keep, other=0.0)
    tl.atomic_add(out + seg[:, None] * D + d[None, :], v, mask=keep, sem="relaxed")  #! atomic-order


class ModelNew(nn.Module):
    def __init__(self, graphs):
        super().__init__()
        self.graphs = graphs

    def forward(self, x, segment):
        x = x.contiguous()
        segment = segment.contiguous()
        n, D = x.shape
        out = torch.zeros(self.graphs, D, device=x.device, dtype=torch.float32)
        scatter_rows[(triton.cdiv(n, 16), triton.cdiv(D, 64))](x, segment, out, n, D, ROWS=16, COLS=64)
        return out


def get_init_inputs():
    return [5]


def get_inputs():
    return [torch.randn(60, 70), torch.randint(0, 5, (60,))]
