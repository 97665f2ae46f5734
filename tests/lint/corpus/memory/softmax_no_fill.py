# kernel_type: normalization
# complexity: low
# outcome: works
# near: missing-mask, unsafe-exp
import torch
import torch.nn as nn
import triton
import triton.language as tl


def row_width(cols: int) -> int:
    return triton.next_power_of_2(cols)


@triton.jit
def scaled_softmax(x_ptr, y_ptr, scale, rows, cols, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)
    keep = (r < rows)[:, None] & (c < cols)[None, :]
    place = r[:, None] * cols + c[None, :]
    logits = tl.load(x_ptr + place, mask=keep) * scale  #! missing-other
    peak = tl.max(logits, axis=1)
    shifted = logits - peak[:, None]
    weights = tl.exp(shifted)
    total = tl.sum(weights, axis=1)
    tl.store(y_ptr + place, weights / total[:, None], mask=keep)


class SoftmaxFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        x = x.contiguous()
        cols = x.size(-1)
        rows = x.numel() // cols
        y = torch.empty_like(x)
        scaled_softmax[(triton.cdiv(rows, 4),)](x, y, scale, rows, cols, BLOCK=row_width(cols), ROWS=4)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return y * (grad - (grad * y).sum(-1, keepdim=True)), None


class ModelNew(nn.Module):
    def __init__(self, scale=1.0):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        return SoftmaxFn.apply(x, self.scale)


def get_init_inputs():
    return [0.125]


def get_inputs():
    return [torch.randn(2, 4, 50, 77)]
