# kernel_type: persistent_recurrent
# complexity: persistent
# outcome: works
# near: time-loop-on-host, scalar-vector-loop
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language import arange, dot, load, program_id, store


@triton.jit
def elman(src, kernel, dst, lengths_ptr, rows, longest, W: tl.constexpr, R: tl.constexpr):
    r = program_id(0) * R + arange(0, R)
    c = arange(0, W)
    ok = r < rows
    lengths = load(lengths_ptr + r, mask=ok, other=0)
    last = tl.max(lengths, axis=0)
    k = load(kernel + c[:, None] + c[None, :] * W)
    y = tl.zeros([R, W], tl.float32)
    step = 0
    while step < last:
        running = (step < lengths)[:, None]
        x = load(src + (r[:, None] * longest + step) * W + c[None, :], mask=ok[:, None], other=0.0)
        a = x + dot(y, k, input_precision="ieee")
        y = tl.where(running, 2.0 / (1.0 + tl.exp(-2.0 * a)) - 1.0, y)
        store(dst + (r[:, None] * longest + step) * W + c[None, :], y, mask=ok[:, None])
        step += 1


class ModelNew(nn.Module):
    """Ragged sequences: a row stops changing once its own length is reached."""

    def __init__(self, width):
        super().__init__()
        self.width = width
        self.inner = nn.Linear(width, width)
        self.recurrent = nn.Parameter(torch.randn(width, width) / width)

    def forward(self, x, lengths):
        rows, longest, _ = x.shape
        projected = self.inner(x).contiguous()
        out = torch.zeros_like(projected)
        elman[(triton.cdiv(rows, 16),)](
            projected, self.recurrent, out, lengths.to(torch.int32), rows, longest, W=self.width, R=16
        )
        return out


def get_init_inputs():
    return [32]


def get_inputs():
    return [torch.randn(6, 9, 32), torch.randint(1, 9, (6,))]
