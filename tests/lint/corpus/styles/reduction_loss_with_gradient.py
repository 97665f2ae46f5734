# kernel_type: reduction
# complexity: medium
# outcome: works
"""Cross entropy that leaves the gradient where the logits were; what it gives back is the loss."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def loss_and_grad(logits, labels, losses, cols, scale, B: tl.constexpr):
    r = tl.program_id(0)
    logits += r * cols
    label = tl.load(labels + r)
    chosen = tl.load(logits + label)
    top = -float("inf")
    mass = 0.0
    for c in range(0, cols, B):
        o = c + tl.arange(0, B)
        x = tl.load(logits + o, mask=o < cols, other=-float("inf"))
        new = tl.maximum(top, tl.max(x, 0))
        mass = mass * tl.exp(top - new) + tl.sum(tl.exp(x - new), 0)
        top = new
    for c in range(0, cols, B):
        o = c + tl.arange(0, B)
        x = tl.load(logits + o, mask=o < cols, other=-float("inf"))
        p = tl.exp(x - top) / mass
        tl.store(logits + o, (p - tl.where(o == label, 1.0, 0.0)) * scale, mask=o < cols)
    tl.store(losses + r, top + tl.log(mass) - chosen)


class ModelNew(nn.Module):
    def forward(self, logits, labels):
        work = logits.clone()
        losses = torch.empty(logits.shape[0], device=logits.device)
        loss_and_grad[(logits.shape[0],)](work, labels, losses, logits.shape[1], 1.0 / logits.shape[0], B=128)
        return losses.mean()


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(6, 300), torch.randint(0, 300, (6,))]
