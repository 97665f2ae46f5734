# kernel_type: reduction
# complexity: medium
# outcome: works
# near: missing-other, atomic-order
"""Mean absolute error. A helper reads one tile of the difference; partial sums are finished on the host."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def read_difference(pred, target, index):
    a = tl.load(pred + index)  #! missing-mask
    b = tl.load(target + index)  #! missing-mask
    return tl.abs(a - b)


@triton.jit
def l1_partial(pred, target, partial, n, PER_PROGRAM: tl.constexpr, CHUNK: tl.constexpr):
    pid = tl.program_id(0)
    lanes = tl.arange(0, CHUNK)
    total = tl.zeros([CHUNK], dtype=tl.float32)
    for step in range(0, PER_PROGRAM, CHUNK):
        total += read_difference(pred, target, pid * PER_PROGRAM + step + lanes)
    tl.store(partial + pid, tl.sum(total, axis=0))


class ModelNew(nn.Module):
    CHUNK = 512
    PER_PROGRAM = 4096

    def forward(self, prediction, target):
        a, b = prediction.contiguous(), target.contiguous()
        n = a.numel()
        programs = triton.cdiv(n, self.PER_PROGRAM)
        partial = torch.empty(programs, dtype=torch.float32, device=a.device)
        l1_partial[(programs,)](a, b, partial, n, self.PER_PROGRAM, self.CHUNK)
        return partial.sum() / n


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(100, 93), torch.randn(100, 93)]
