# kernel_type: gemm
# complexity: medium
# outcome: works
# near: tf32-implicit, missing-mask
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mm(a_ptr, b_ptr, c_ptr, M, N, K, am, ak, bk, bn, cm, cn,
       BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        kk = k + rk
        a = tl.load(a_ptr + rm[:, None] * am + kk[None, :] * ak,
                    mask=(rm[:, None] < M) & (kk[None, :] < K), other=0.0)
        b = tl.load(b_ptr + kk[:, None] * bk + rn[None, :] * bn,
                    mask=(kk[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    tl.store(c_ptr + rm[:, None] * cm + rn[None, :] * cn, acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self, k, n):
        super().__init__()
        self.w = nn.Parameter(torch.randn(k, n) * 0.05)

    def forward(self, x):
        M, K = x.shape
        N = self.w.shape[1]
        y = torch.empty((M, N), device=x.device, dtype=x.dtype)
        mm[(triton.cdiv(M, 32), triton.cdiv(N, 32))](
            x, self.w, y, M, N, K,
            x.stride(0), x.stride(1),
            self.w.stride(0), self.w.stride(1),
            x.stride(0), x.stride(1),  #! stride-reuse
            BM=32, BN=32, BK=32,
        )
        return y


def get_init_inputs():
    return [64, 96]


def get_inputs():
    return [torch.randn(40, 64)]
