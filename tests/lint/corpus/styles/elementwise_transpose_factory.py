# kernel_type: elementwise
# complexity: low
# outcome: works
"""Transposing the last two axes: the kernel is made in a factory and kept on the module."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


def make_transpose(block):
    @triton.jit
    def kernel(inp, out, rows, cols, BLOCK: tl.constexpr):
        batch = tl.program_id(2)
        r0 = tl.program_id(0) * BLOCK
        c0 = tl.program_id(1) * BLOCK
        r = r0 + tl.arange(0, BLOCK)
        c = c0 + tl.arange(0, BLOCK)
        base = batch * rows * cols
        tile = tl.load(inp + base + r[:, None] * cols + c[None, :], mask=(r[:, None] < rows) & (c[None, :] < cols))
        tl.store(out + base + c[:, None] * rows + r[None, :], tl.trans(tile), mask=(c[:, None] < cols) & (r[None, :] < rows))

    def launch(x):
        x = x.contiguous()
        n, rows, cols = x.shape
        out = x.new_empty((n, cols, rows))
        kernel[(triton.cdiv(rows, block), triton.cdiv(cols, block), n)](x, out, rows, cols, BLOCK=block)
        return out

    return launch


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.transpose = make_transpose(32)

    def forward(self, x):
        return self.transpose(x)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(3, 45, 70)]
