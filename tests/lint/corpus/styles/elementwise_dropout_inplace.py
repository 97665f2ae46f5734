# kernel_type: elementwise
# complexity: low
# outcome: works
# near: output-not-written
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def dropout_add_(residual, branch, n, keep_probability, seed, BLOCK: tl.constexpr):
    """residual += dropout(branch), in place."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    keep = tl.rand(seed, at) < keep_probability
    b = tl.load(branch + at, mask=inside, other=0.0)
    r = tl.load(residual + at, mask=inside, other=0.0)
    tl.store(residual + at, r + tl.where(keep, b / keep_probability, 0.0), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, p: float):
        super().__init__()
        self.p = p
        self.calls = 0

    def forward(self, residual, branch):
        result = residual.clone()
        self.calls += 1
        n = result.numel()
        block = 1024
        dropout_add_[((n + block - 1) // block,)](result, branch.contiguous(), n, 1.0 - self.p, self.calls, BLOCK=block)
        return result


def get_init_inputs():
    return [0.2]


def get_inputs():
    return [torch.randn(8, 130), torch.randn(8, 130)]
