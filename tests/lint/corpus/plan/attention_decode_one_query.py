# kernel_type: attention
# complexity: high
# outcome: works
# near: no-tensor-core, scalar-vector-loop, unsafe-exp, grid-batch-only
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def decode_kernel(q_ptr, k_ptr, v_ptr, o_ptr, n_keys, scale, D: tl.constexpr, BLOCK_N: tl.constexpr):
    """One query per head against a cache of keys: a product with one row has nothing for a tensor core."""
    head = tl.program_id(0)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + head * D + d) * scale
    best = -float("inf")
    total = 0.0
    acc = tl.zeros((D,), dtype=tl.float32)
    for start in range(0, n_keys, BLOCK_N):
        n = start + tl.arange(0, BLOCK_N)
        ok = n < n_keys
        k = tl.load(k_ptr + (head * n_keys + n[:, None]) * D + d[None, :], mask=ok[:, None], other=0.0)
        s = tl.where(ok, tl.sum(q[None, :] * k, axis=1), -float("inf"))
        new_best = tl.maximum(best, tl.max(s, axis=0))
        p = tl.exp(s - new_best)
        shrink = tl.exp(best - new_best)
        v = tl.load(v_ptr + (head * n_keys + n[:, None]) * D + d[None, :], mask=ok[:, None], other=0.0)
        acc = acc * shrink + tl.sum(p[:, None] * v, axis=0)
        total = total * shrink + tl.sum(p, axis=0)
        best = new_best
    tl.store(o_ptr + head * D + d, acc / total)


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        batch, heads, n_keys, D = k.shape
        o = torch.empty_like(q)
        decode_kernel[(batch * heads,)](
            q.contiguous(), k.contiguous(), v.contiguous(), o, n_keys, D ** -0.5, D=D, BLOCK_N=64
        )
        return o


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 3, 1, 32), torch.randn(2, 3, 100, 32), torch.randn(2, 3, 100, 32)]
