# kernel_type: reduction
# complexity: low
# outcome: works
# near: grid-coverage, torch-does-the-work
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def squared_error_partials(p, t, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.load(p + i, mask=i < n, other=0.0) - tl.load(t + i, mask=i < n, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(d * d))


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        n = predictions.numel()
        blocks = triton.cdiv(n, 4096)
        partial = torch.empty(blocks, dtype=torch.float32, device=predictions.device)
        squared_error_partials[(blocks,)](predictions.contiguous(), targets.contiguous(), partial, n, BLOCK=4096)
        return partial.sum() / n


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(30, 1000), torch.randn(30, 1000)]
