# kernel_type: gemm
# complexity: medium
# outcome: works
# near: autotune-key-missing, too-many-configs
"""SwiGLU: two products share the activations. Two 128 x 256 accumulators are 512 registers a thread at 4 warps."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BM": 128, "BN": 256, "BK": 32}, num_warps=4, num_stages=2),
        triton.Config({"BM": 256, "BN": 128, "BK": 32}, num_warps=4, num_stages=2),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def swiglu_kernel(x_ptr, w_ptr, v_ptr, y_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    gate = tl.zeros((BM, BN), dtype=tl.float32)
    value = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, tl.cdiv(K, BK)):  #! register-budget
        k = k0 * BK + tl.arange(0, BK)
        x = tl.load(x_ptr + m[:, None] * K + k[None, :], mask=(m < M)[:, None] & (k < K)[None, :], other=0.0)
        inside = (n < N)[None, :] & (k < K)[:, None]
        w = tl.load(w_ptr + n[None, :] * K + k[:, None], mask=inside, other=0.0)
        v = tl.load(v_ptr + n[None, :] * K + k[:, None], mask=inside, other=0.0)
        gate += tl.dot(x.to(tl.float16), w.to(tl.float16))
        value += tl.dot(x.to(tl.float16), v.to(tl.float16))
    y = gate * tl.sigmoid(gate) * value
    tl.store(y_ptr + m[:, None] * N + n[None, :], y, mask=(m < M)[:, None] & (n < N)[None, :])


class ModelNew(nn.Module):
    def __init__(self, d, hidden):
        super().__init__()
        self.w = nn.Parameter(torch.randn(hidden, d) * 0.02)
        self.v = nn.Parameter(torch.randn(hidden, d) * 0.02)

    def forward(self, x):
        M, K = x.shape
        N = self.w.shape[0]
        y = torch.empty(M, N, device=x.device, dtype=x.dtype)
        grid = lambda META: (triton.cdiv(M, META["BM"]), triton.cdiv(N, META["BN"]))
        swiglu_kernel[grid](x.contiguous(), self.w, self.v, y, M, N, K)
        return y


def get_init_inputs():
    return [64, 300]


def get_inputs():
    return [torch.randn(150, 64)]
