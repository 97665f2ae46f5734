# kernel_type: reduction
# complexity: medium
# outcome: works
# near: no-model-class, no-triton-launch, decoy-kernel
"""Row sums. The kernel and the class are made by factories; the launch goes through a table on self."""

import torch
import triton
import triton.language as tl


def make_kernel(block):
    @triton.jit
    def row_sum(x, out, cols, stride, B: tl.constexpr):
        row = tl.program_id(0)
        acc = tl.zeros((B,), tl.float32)
        for start in range(0, cols, B):
            c = start + tl.arange(0, B)
            acc += tl.load(x + row * stride + c, mask=c < cols, other=0.0)
        tl.store(out + row, tl.sum(acc, 0))

    return row_sum, block


def make_model(base):
    class RowSum(base):
        def __init__(self, wide):
            super().__init__()
            self.table = {"narrow": make_kernel(128), "wide": make_kernel(1024)}
            self.choice = "wide" if wide else "narrow"

        def forward(self, x):
            kernel, block = self.table[self.choice]
            out = torch.empty(x.shape[0], 1, device=x.device, dtype=torch.float32)
            kernel[(x.shape[0],)](x, out, x.shape[1], x.stride(0), B=block)
            return out

    return RowSum


globals()["ModelNew"] = make_model(torch.nn.Module)


def get_init_inputs():
    return [True]


def get_inputs():
    return [torch.randn(6, 2000)]
