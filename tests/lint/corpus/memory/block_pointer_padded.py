# kernel_type: normalization
# complexity: medium
# outcome: fails
# near: missing-mask, missing-other, int32-overflow
"""RMS norm over rows through block pointers; the edge is checked and padded with zeros."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rms_rows(src, weight, dst, M, N, eps, pitch, BM: tl.constexpr, BN: tl.constexpr):
    row = tl.program_id(0) * BM
    view = tl.make_block_ptr(base=src, shape=(M, N), strides=(pitch, 1), offsets=(row, 0),
                             block_shape=(BM, BN), order=(1, 0))
    squares = tl.zeros((BM,), dtype=tl.float32)
    for _ in range(0, N, BN):
        x = tl.load(view, boundary_check=(0, 1), padding_option="zero").to(tl.float32)
        squares += tl.sum(x * x, axis=1)
        view = tl.advance(view, (0, BN))
    scale = tl.rsqrt(squares / N + eps)
    view = tl.make_block_ptr(base=src, shape=(M, N), strides=(pitch, 1), offsets=(row, 0),
                             block_shape=(BM, BN), order=(1, 0))
    gains = tl.make_block_ptr(base=weight, shape=(N,), strides=(1,), offsets=(0,), block_shape=(BN,), order=(0,))
    out = tl.make_block_ptr(base=dst, shape=(M, N), strides=(pitch, 1), offsets=(row, 0),
                            block_shape=(BM, BN), order=(1, 0))
    for _ in range(0, N, BN):
        x = tl.load(view, boundary_check=(0, 1)).to(tl.float32)
        g = tl.load(gains, boundary_check=(0,))
        tl.store(out, x * scale[:, None] * g[None, :], boundary_check=(0, 1))
        view = tl.advance(view, (0, BN))
        gains = tl.advance(gains, (BN,))
        out = tl.advance(out, (0, BN))


class ModelNew(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        rows = x.contiguous().view(-1, x.shape[-1])
        M, N = rows.shape
        y = torch.empty_like(rows)
        rms_rows[(triton.cdiv(M, 4),)](rows, self.weight, y, M, N, self.eps, rows.stride(0), BM=4, BN=128)
        return y.view(x.shape)


def get_init_inputs():
    return [200]


def get_inputs():
    return [torch.randn(3, 5, 200)]
