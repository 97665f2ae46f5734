# kernel_type: reduction
# complexity: low
# outcome: works
"""Cosine similarity of paired rows: three dot products of vectors, one number per row."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cosine(A, B, OUT, dim, eps, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, WIDTH)
    a = tl.load(A + row * dim + i, mask=i < dim, other=0.0)
    b = tl.load(B + row * dim + i, mask=i < dim, other=0.0)
    ab = tl.sum(a * b, axis=0)
    lengths = tl.sqrt(tl.sum(a * a, axis=0)) * tl.sqrt(tl.sum(b * b, axis=0))
    tl.store(OUT + row, 1.0 - ab / tl.maximum(lengths, eps))


class ModelNew(nn.Module):
    def __init__(self, eps=1e-8):
        super().__init__()
        self.eps = eps

    def forward(self, a, b):
        rows, dim = a.shape
        out = torch.empty(rows, device=a.device)
        cosine[(rows,)](a.contiguous(), b.contiguous(), out, dim, self.eps, WIDTH=triton.next_power_of_2(dim))
        return out.mean()


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(9, 200), torch.randn(9, 200)]
