# kernel_type: gemm
# complexity: medium
# outcome: works
"""Linear layers as modules of their own, one kernel with a fused epilogue chosen at compile time."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.heuristics({"EVEN_K": lambda args: args["K"] % args["BLOCK_K"] == 0})
@triton.jit
def linear_act(
    X, W, BIAS, Y, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    ACT: tl.constexpr, EVEN_K: tl.constexpr,
):
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    x_ptrs = X + rm[:, None] * K + rk[None, :]
    w_ptrs = W + rn[None, :] * K + rk[:, None]
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        if EVEN_K:
            x = tl.load(x_ptrs, mask=rm[:, None] < M, other=0.0)
            w = tl.load(w_ptrs, mask=rn[None, :] < N, other=0.0)
        else:
            x = tl.load(x_ptrs, mask=(rm[:, None] < M) & (rk[None, :] + k < K), other=0.0)
            w = tl.load(w_ptrs, mask=(rn[None, :] < N) & (rk[:, None] + k < K), other=0.0)
        acc = tl.dot(x, w, acc, input_precision="ieee")
        x_ptrs += BLOCK_K
        w_ptrs += BLOCK_K
    acc += tl.load(BIAS + rn, mask=rn < N, other=0.0)[None, :]
    if ACT == 1:
        acc = tl.maximum(acc, 0.0)
    elif ACT == 2:
        acc = acc * tl.sigmoid(acc)
    tl.store(Y + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


class TritonLinear(nn.Linear):
    def __init__(self, fan_in, fan_out, act):
        super().__init__(fan_in, fan_out)
        self.act = act

    def forward(self, x):
        x = x.contiguous()
        m, k = x.shape
        n = self.out_features
        y = x.new_empty(m, n)
        linear_act[(triton.cdiv(m, 32), triton.cdiv(n, 32))](
            x, self.weight, self.bias, y, m, n, k, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32, ACT=self.act
        )
        return y


class ModelNew(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        pairs = list(zip(sizes, sizes[1:]))
        self.layers = nn.ModuleList(
            TritonLinear(a, b, 1 if i + 1 < len(pairs) else 0) for i, (a, b) in enumerate(pairs)
        )

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def get_init_inputs():
    return [[50, 64, 32, 10]]


def get_inputs():
    return [torch.randn(20, 50)]
