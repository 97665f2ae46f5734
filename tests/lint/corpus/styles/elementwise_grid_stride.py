# kernel_type: elementwise
# complexity: low
# outcome: works
# near: grid-coverage
import torch
import triton
from torch.nn import Module
from triton.language import abs as magnitude
from triton.language import arange, constexpr, load, num_programs, program_id, store, where
from triton.language import exp as tl_exp


@triton.jit
def mish(v):
    # softplus without overflow: max(v, 0) + log1p(exp(-|v|)), written for the ratio tanh needs
    e = tl_exp(-magnitude(v))
    upper = where(v >= 0, 1.0 + 2.0 * e, e * (e + 2.0))
    return v * upper / (upper + 2.0 * where(v >= 0, e * e, 1.0))


@triton.jit
def run_mish(src, dst, size, SPAN: constexpr):
    position = program_id(0) * SPAN
    while position < size:
        i = position + arange(0, SPAN)
        store(dst + i, mish(load(src + i, mask=i < size, other=0.0)), mask=i < size)
        position += num_programs(0) * SPAN


class ModelNew(Module):
    def forward(self, src):
        src = src.contiguous()
        dst = torch.empty_like(src)
        programs = 4 * torch.cuda.get_device_properties(0).multi_processor_count
        run_mish[(programs,)](src, dst, src.numel(), SPAN=512, num_warps=4)
        return dst


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(1000, 33)]
