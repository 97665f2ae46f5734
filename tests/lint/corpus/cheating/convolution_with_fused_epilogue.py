# kernel_type: hybrid
# complexity: low
# outcome: works
# near: torch-does-the-work, decoy-kernel
"""cuDNN convolves without bias; one kernel then does bias, batch norm, residual and hard-swish in one pass."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def bn_residual_hardswish(
    y_ptr, skip_ptr, scale_ptr, shift_ptr, out_ptr,
    total, plane, channels,
    BLOCK: tl.constexpr,
):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < total
    c = (at // plane) % channels
    y = tl.load(y_ptr + at, mask=mask, other=0.0)
    y = y * tl.load(scale_ptr + c, mask=mask, other=0.0) + tl.load(shift_ptr + c, mask=mask, other=0.0)
    y += tl.load(skip_ptr + at, mask=mask, other=0.0)
    gate = tl.minimum(tl.maximum(y + 3.0, 0.0), 6.0) * (1.0 / 6.0)
    tl.store(out_ptr + at, y * gate, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.bn = nn.BatchNorm2d(channels)

    def _folded(self):
        """Batch norm at inference as y * scale + shift, the convolution's bias included."""
        scale = self.bn.weight * torch.rsqrt(self.bn.running_var + self.bn.eps)
        return scale, (self.conv.bias - self.bn.running_mean) * scale + self.bn.bias

    def forward(self, x):
        x = x.contiguous()
        y = F.conv2d(x, self.conv.weight, padding=1).contiguous()
        scale, shift = self._folded()
        out = torch.empty_like(y)
        n, c, h, w = y.shape
        bn_residual_hardswish[(triton.cdiv(y.numel(), 1024),)](
            y, x, scale, shift, out, y.numel(), h * w, c, BLOCK=1024
        )
        return out


def get_init_inputs():
    return [8]


def get_inputs():
    return [torch.randn(2, 8, 12, 12)]
