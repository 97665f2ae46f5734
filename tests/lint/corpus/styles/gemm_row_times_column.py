# kernel_type: gemm
# complexity: medium
# outcome: works
"""One output per program: a row of A times a column of B, block by block along K."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def dot_rows(a_ptr, bt_ptr, c_ptr, N, K, BLOCK_K: tl.constexpr):
    m, n = tl.program_id(0), tl.program_id(1)
    k = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_K,), tl.float32)
    for k0 in range(0, K, BLOCK_K):
        live = k0 + k < K
        a = tl.load(a_ptr + m * K + k0 + k, mask=live, other=0.0)
        b = tl.load(bt_ptr + n * K + k0 + k, mask=live, other=0.0)
        total += a * b
    tl.store(c_ptr + m * N + n, tl.sum(total, axis=0))


class ModelNew(nn.Module):
    def __init__(self, k, n):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n, k))

    def forward(self, x):
        x = x.contiguous()
        m, k = x.shape
        n = self.weight.shape[0]
        y = torch.empty(m, n, device=x.device)
        dot_rows[(m, n)](x, self.weight, y, n, k, BLOCK_K=256)
        return y


def get_init_inputs():
    return [300, 10]


def get_inputs():
    return [torch.randn(6, 300)]
