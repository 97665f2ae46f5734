# kernel_type: normalization
# complexity: low
# outcome: works
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def instance_norm(x_ptr, y_ptr, area, eps, AREA: tl.constexpr):
    plane = tl.program_id(0)
    i = tl.arange(0, AREA)
    inside = i < area
    x = tl.load(x_ptr + plane * area + i, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / area
    centered = tl.where(inside, x - mean, 0.0)
    var = tl.sum(centered * centered, axis=0) / area
    y = centered / tl.sqrt(var + eps)
    tl.store(y_ptr + plane * area + i, y, mask=inside)


@torch.no_grad()
def instance_norm_2d(x, eps=1e-5):
    n, c, h, w = x.shape
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    instance_norm[(n * c,)](x.contiguous(), y, h * w, eps, AREA=triton.next_power_of_2(h * w), num_warps=8)
    return y


class ModelNew(nn.Module):
    def forward(self, x):
        return instance_norm_2d(x)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 3, 30, 31)]
