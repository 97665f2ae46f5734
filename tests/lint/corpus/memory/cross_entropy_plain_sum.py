# kernel_type: reduction
# complexity: medium
# outcome: works
# near: missing-other, int32-overflow, atomic-order
"""Cross entropy: log of the summed exponentials minus the logit of the target, averaged on the host."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def nll_rows(logits, targets, losses, vocab, stride, CHUNK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    base = logits + row * stride
    running = 0.0
    for first in range(0, vocab, CHUNK):
        ids = first + tl.arange(0, CHUNK)
        chunk = tl.load(base + ids, mask=ids < vocab, other=float("-inf")).to(tl.float32)
        running += tl.sum(tl.exp(chunk), axis=0)  #! unsafe-exp
    target = tl.load(targets + row)
    picked = tl.load(base + target).to(tl.float32)
    tl.store(losses + row, tl.log(running) - picked)


def cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    logits, targets = logits.contiguous(), targets.contiguous()
    rows, vocab = logits.shape
    losses = torch.empty(rows, dtype=torch.float32, device=logits.device)
    nll_rows[(rows,)](logits, targets, losses, vocab, logits.stride(0), CHUNK=1024)
    return losses.mean()


class ModelNew(nn.Module):
    def forward(self, logits, targets):
        return cross_entropy(logits, targets)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(8, 3000), torch.randint(0, 3000, (8,))]
