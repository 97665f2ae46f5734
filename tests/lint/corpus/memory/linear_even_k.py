# kernel_type: gemm
# complexity: medium
# outcome: works
# near: missing-mask, tf32-implicit, meta-parameter-twice
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.heuristics({"EVEN_K": lambda args: args["K"] % args["BK"] == 0})
@triton.jit
def linear_bias(x, w, b, y, M, N, K, sx, sw, sy,
                BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, EVEN_K: tl.constexpr):
    """y[m, n] = sum_k x[m, k] w[n, k] + b[n]"""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    ok_m = (m < M)[:, None]
    ok_n = (n < N)[None, :]
    xp = x + m[:, None] * sx + k[None, :]
    wp = w + n[None, :] * sw + k[:, None]
    acc = tl.zeros([BM, BN], tl.float32)
    for left in range(K, 0, -BK):
        if EVEN_K:
            xt = tl.load(xp, mask=ok_m, other=0.0)
            wt = tl.load(wp, mask=ok_n, other=0.0)
        else:
            xt = tl.load(xp, mask=ok_m & (k < left)[None, :], other=0.0)
            wt = tl.load(wp, mask=ok_n & (k < left)[:, None], other=0.0)
        acc += tl.dot(xt, wt, input_precision="tf32x3")
        xp += BK
        wp += BK
    acc += tl.load(b + n, mask=n < N, other=0.0)[None, :]
    tl.store(y + m[:, None] * sy + n[None, :], acc, mask=ok_m & ok_n)


class ModelNew(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.proj = nn.Linear(d_in, d_out)

    def forward(self, x):
        x = x.contiguous()
        w, b = self.proj.weight, self.proj.bias
        M, K = x.shape
        N = w.shape[0]
        y = x.new_empty(M, N)
        grid = (triton.cdiv(M, 32), triton.cdiv(N, 64))
        linear_bias[grid](x, w, b, y, M, N, K, x.stride(0), w.stride(0), y.stride(0), BM=32, BN=64, BK=32)
        return y


def get_init_inputs():
    return [96, 50]


def get_inputs():
    return [torch.randn(40, 96)]
