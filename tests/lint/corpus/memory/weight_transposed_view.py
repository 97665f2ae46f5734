# kernel_type: gemm
# complexity: medium
# outcome: works
# near: stride-reuse, missing-mask, contiguity-assumed, int32-overflow
"""x @ W.T + b: the weight's strides are handed over swapped on purpose, nothing is copied."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def addmm(x, w, b, y, M, N, K, xm, xk, wk, wn, ym, yn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
    n = tl.program_id(1).to(tl.int64) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        xs = tl.load(x + m[:, None] * xm + k[None, :] * xk, (m[:, None] < M) & (k[None, :] < K), 0.0)
        ws = tl.load(w + k[:, None] * wk + n[None, :] * wn, (k[:, None] < K) & (n[None, :] < N), 0.0)
        acc += tl.dot(xs, ws)  #! tf32-implicit
    acc += tl.load(b + n, n < N, 0.0)[None, :]
    tl.store(y + m[:, None] * ym + n[None, :] * yn, acc, (m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self, k, n):
        super().__init__()
        self.fc = nn.Linear(k, n)

    def forward(self, x):
        (M, K), N = x.shape, self.fc.out_features
        w = self.fc.weight
        y = torch.empty((M, N), device=x.device, dtype=x.dtype)
        grid = (triton.cdiv(M, 64), triton.cdiv(N, 32))
        addmm[grid](x, w, self.fc.bias, y, M, N, K, *x.stride(), w.stride(1), w.stride(0), *y.stride(),
                    BM=64, BN=32, BK=32)
        return y


def get_init_inputs():
    return [60, 44]


def get_inputs():
    return [torch.randn(70, 60)]
