# kernel_type: gemm
# complexity: medium
# outcome: works
# near: scalar-vector-loop, no-tensor-core
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def matvec(m_ptr, v_ptr, y_ptr, rows, cols, BR: tl.constexpr, BC: tl.constexpr):
    r = tl.program_id(0) * BR + tl.arange(0, BR)
    acc = tl.zeros((BR, BC), dtype=tl.float32)
    for start in range(0, cols, BC):
        c = start + tl.arange(0, BC)
        tile = tl.load(m_ptr + r[:, None] * cols + c[None, :], mask=(r < rows)[:, None] & (c < cols)[None, :], other=0.0)
        v = tl.load(v_ptr + c, mask=c < cols, other=0.0)
        acc += tile * v[None, :]
    tl.store(y_ptr + r, tl.sum(acc, axis=1), mask=r < rows)


@triton.jit
def transposed_matvec(m_ptr, u_ptr, y_ptr, rows, cols, BLOCK: tl.constexpr):
    """y = M^T u: the entries of the one vector come one by one, and each row of M is read once."""
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for r in range(rows):
        acc += tl.load(u_ptr + r) * tl.load(m_ptr + r * cols + c, mask=c < cols, other=0.0)
    tl.store(y_ptr + c, acc, mask=c < cols)


class ModelNew(nn.Module):
    """M^T (M v)."""

    def forward(self, matrix, vector):
        rows, cols = matrix.shape
        matrix = matrix.contiguous()
        u = torch.empty(rows, device=matrix.device, dtype=matrix.dtype)
        matvec[(triton.cdiv(rows, 16),)](matrix, vector, u, rows, cols, BR=16, BC=64)
        y = torch.empty(cols, device=matrix.device, dtype=matrix.dtype)
        transposed_matvec[(triton.cdiv(cols, 128),)](matrix, u, y, rows, cols, BLOCK=128)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(50, 300), torch.randn(300)]
