# kernel_type: reduction
# complexity: medium
# outcome: works
# near: unsafe-exp, missing-other
"""Cross entropy with a running log-sum-exp over chunks of the vocabulary; one loss per row."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cross_entropy_rows(X, TARGET, LOSS, V, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x = X + row * stride
    target = tl.load(TARGET + row)
    m = float("-inf")
    s = 0.0
    for start in range(0, V, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        v = tl.load(x + cols, mask=cols < V, other=float("-inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(v))
        s = s * tl.exp(m - m_new) + tl.sum(tl.exp(v - m_new))
        m = m_new
    picked = tl.load(x + target).to(tl.float32)
    tl.store(LOSS + row, m + tl.log(s) - picked)


class ModelNew(nn.Module):
    def forward(self, logits, target):
        rows, vocabulary = logits.shape
        loss = torch.empty(rows, device=logits.device, dtype=torch.float32)
        cross_entropy_rows[(rows,)](logits, target, loss, vocabulary, logits.stride(0), BLOCK=2048, num_warps=8)
        return loss.mean()


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(6, 5000), torch.randint(0, 5000, (6,))]
