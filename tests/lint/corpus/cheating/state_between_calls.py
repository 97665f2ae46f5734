# kernel_type: elementwise
# complexity: low
# outcome: works
# near: cached-output, decoy-kernel, patched-runtime
"""Running statistics: buffers that one call updates and the next reads, as batch norm and moving averages do."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def moving_average(avg_ptr, x_ptr, out_ptr, decay, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    avg = tl.load(avg_ptr + i, mask=m, other=0.0)
    x = tl.load(x_ptr + i, mask=m, other=0.0)
    avg = avg * decay + x * (1.0 - decay)
    tl.store(avg_ptr + i, avg, mask=m)
    tl.store(out_ptr + i, x - avg, mask=m)


class ModelNew(nn.Module):
    def __init__(self, features, decay):
        super().__init__()
        self.register_buffer("average", torch.zeros(features))
        self.decay = decay
        self.steps = 0
        self.observers = []

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        n = x.numel()
        moving_average[(triton.cdiv(n, 256),)](self.average, x, out, self.decay, n, BLOCK=256)
        self.steps += 1
        if self.steps % 100 == 0:
            for observer in self.observers:
                observer(self.average)
        return out


def get_init_inputs():
    return [700, 0.9]


def get_inputs():
    return [torch.randn(700)]
