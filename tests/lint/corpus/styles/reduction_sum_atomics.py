# kernel_type: reduction
# complexity: medium
# outcome: works
# near: output-not-written, grid-coverage
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def hinge(scores, labels, result, size, WIDTH: tl.constexpr):
    lane = tl.arange(0, WIDTH)
    loss = tl.zeros((WIDTH,), tl.float32)
    for base in range(tl.program_id(0) * WIDTH, size, tl.num_programs(0) * WIDTH):
        i = base + lane
        s = tl.load(scores + i, mask=i < size, other=2.0).to(tl.float32)
        t = tl.load(labels + i, mask=i < size, other=1.0).to(tl.float32)
        loss += tl.maximum(1.0 - s * t, 0.0)
    tl.atomic_add(result, tl.sum(loss, axis=0) / size)  #! atomic-order


class ModelNew(nn.Module):
    def forward(self, scores, labels):
        result = torch.zeros((), device=scores.device, dtype=torch.float32)
        hinge[(64,)](scores.contiguous(), labels.contiguous(), result, scores.numel(), WIDTH=1024)
        return result


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(5000), torch.randint(0, 2, (5000,)).float() * 2 - 1]
