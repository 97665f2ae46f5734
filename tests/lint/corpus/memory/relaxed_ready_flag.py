# kernel_type: reduction
# complexity: high
# outcome: works
# near: missing-mask, missing-other
"""Global norm: every program leaves a partial sum, program 0 waits for all of them and finishes."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def global_norm(x, partials, ready, out, n, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr):
    pid = tl.program_id(0)
    step = tl.num_programs(0) * BLOCK
    total = tl.zeros((BLOCK,), tl.float32)
    for s in range(pid * BLOCK, n, step):
        i = s + tl.arange(0, BLOCK)
        v = tl.load(x + i, mask=i < n, other=0.0)
        total += v * v
    tl.store(partials + pid, tl.sum(total, axis=0))
    tl.atomic_add(ready, 1, sem="relaxed")  #! atomic-order
    if pid == 0:
        while tl.atomic_add(ready, 0, sem="relaxed") < PROGRAMS:  #! atomic-order
            pass
        everyone = tl.load(partials + tl.arange(0, PROGRAMS))
        tl.store(out, tl.sqrt(tl.sum(everyone, axis=0)))


class ModelNew(nn.Module):
    PROGRAMS = 64

    def forward(self, x):
        x = x.contiguous()
        partials = torch.empty(self.PROGRAMS, device=x.device, dtype=torch.float32)
        ready = torch.zeros(1, device=x.device, dtype=torch.int32)
        out = torch.empty((), device=x.device, dtype=torch.float32)
        global_norm[(self.PROGRAMS,)](x, partials, ready, out, x.numel(), BLOCK=512, PROGRAMS=self.PROGRAMS)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(100, 200)]
