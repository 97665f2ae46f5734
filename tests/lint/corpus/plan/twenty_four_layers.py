# kernel_type: gemm
# complexity: medium
# outcome: works
# near: time-loop-on-host
# finds: small-launch-count
import torch
import torch.nn as nn
import triton
import triton.language as tl

DEPTH = 24


@triton.jit
def linear_relu(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(x_ptr + m[:, None] * K + k[None, :], mask=(m < M)[:, None] & (k < K)[None, :], other=0.0)
        w = tl.load(w_ptr + n[None, :] * K + k[:, None], mask=(n < N)[None, :] & (k < K)[:, None], other=0.0)
        acc = tl.dot(x, w, acc, input_precision="ieee")
    y = tl.maximum(acc + tl.load(b_ptr + n, mask=n < N, other=0.0)[None, :], 0.0)
    tl.store(y_ptr + m[:, None] * N + n[None, :], y, mask=(m < M)[:, None] & (n < N)[None, :])


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weights = nn.Parameter(torch.randn(DEPTH, width, width) * 0.1)
        self.biases = nn.Parameter(torch.zeros(DEPTH, width))

    def forward(self, x):
        M, width = x.shape
        x = x.contiguous()
        for i in range(DEPTH):
            y = torch.empty_like(x)
            linear_relu[(triton.cdiv(M, 32), triton.cdiv(width, 32))](
                x, self.weights[i], self.biases[i], y, M, width, width, BM=32, BN=32, BK=32
            )
            x = y
        return x


def get_init_inputs():
    return [40]


def get_inputs():
    return [torch.randn(20, 40)]
