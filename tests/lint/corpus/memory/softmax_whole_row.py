# kernel_type: normalization
# complexity: low
# outcome: works
# near: unsafe-exp
"""Row softmax, one program per row; the row is read in one go."""
import torch
from torch import nn
import triton
from triton import language as L


@triton.jit
def _row_softmax(src, dst, src_row, dst_row, COLS: L.constexpr):
    r = L.program_id(0)
    c = L.arange(0, COLS)
    v = L.load(src + r * src_row + c)  #! missing-mask
    v = v.to(L.float32)
    v = v - L.max(v, axis=0)
    e = L.exp(v)
    L.store(dst + r * dst_row + c, e / L.sum(e, axis=0))  #! missing-mask


def row_softmax(src: torch.Tensor) -> torch.Tensor:
    rows, cols = src.shape
    dst = torch.empty_like(src)
    # Triton wants a power of two here.
    width = triton.next_power_of_2(cols)
    warps = 4
    if width >= 2048:
        warps = 8
    if width >= 4096:
        warps = 16
    _row_softmax[(rows,)](src, dst, src.stride(0), dst.stride(0), COLS=width, num_warps=warps)
    return dst


class ModelNew(nn.Module):
    def forward(self, scores: torch.Tensor) -> torch.Tensor:
        flat = scores.reshape(-1, scores.shape[-1]).contiguous()
        return row_softmax(flat).view_as(scores)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(4, 6, 100)]
