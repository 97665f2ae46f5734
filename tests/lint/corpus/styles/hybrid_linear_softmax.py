# kernel_type: hybrid
# complexity: low
# outcome: works
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scaled_softmax(x, y, n, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + j, mask=j < n, other=-float("inf")) * scale
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * n + j, e / tl.sum(e, axis=0), mask=j < n)


class ModelNew(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.head = nn.Linear(width, classes)
        self.scale = width**-0.5

    def forward(self, x):
        logits = self.head(x)
        probabilities = torch.empty_like(logits)
        rows, n = logits.shape
        scaled_softmax[(rows,)](logits, probabilities, n, self.scale, BLOCK=triton.next_power_of_2(n))
        return probabilities


def get_init_inputs():
    return [32, 100]


def get_inputs():
    return [torch.randn(6, 32)]
