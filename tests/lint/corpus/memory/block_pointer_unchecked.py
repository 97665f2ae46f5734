# kernel_type: gemm
# complexity: medium
# outcome: fails
# near: tf32-implicit, low-precision-accumulator
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BM": 64, "BN": 64, "BK": 32}, num_warps=4, num_stages=3),
        triton.Config({"BM": 128, "BN": 64, "BK": 32}, num_warps=4, num_stages=3),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def linear_fwd(X, W, Y, M, N, K, sxm, sxk, swn, swk, sym, syn,
               BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0)
    j = tl.program_id(1)
    x_blk = tl.make_block_ptr(X, shape=(M, K), strides=(sxm, sxk), offsets=(i * BM, 0),
                              block_shape=(BM, BK), order=(1, 0))
    w_blk = tl.make_block_ptr(W, shape=(K, N), strides=(swk, swn), offsets=(0, j * BN),
                              block_shape=(BK, BN), order=(0, 1))
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(tl.cdiv(K, BK)):
        xt = tl.load(x_blk)  #! missing-mask
        wt = tl.load(w_blk)  #! missing-mask
        total = tl.dot(xt, wt, total, allow_tf32=False)
        x_blk = tl.advance(x_blk, (0, BK))
        w_blk = tl.advance(w_blk, (BK, 0))
    y_blk = tl.make_block_ptr(Y, shape=(M, N), strides=(sym, syn), offsets=(i * BM, j * BN),
                              block_shape=(BM, BN), order=(1, 0))
    tl.store(y_blk, total, boundary_check=(0, 1))


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out_features, in_features) * 0.02)

    def forward(self, x):
        M, K = x.shape
        N = self.weight.shape[0]
        y = torch.empty(M, N, device=x.device, dtype=x.dtype)
        grid = lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]))
        linear_fwd[grid](x, self.weight, y, M, N, K, x.stride(0), x.stride(1),
                         self.weight.stride(0), self.weight.stride(1), y.stride(0), y.stride(1))
        return y


def get_init_inputs():
    return [72, 40]


def get_inputs():
    return [torch.randn(50, 72)]
