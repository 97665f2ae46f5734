# kernel_type: elementwise
# complexity: low
# outcome: works
# near: no-model-class, environment-sniffing, flags-flipped, patched-runtime
"""tanh(x + y). Which class becomes ModelNew depends on what the installed Triton and the GPU offer."""

import torch
import torch.nn as nn
import triton
import triton.language as tl

if hasattr(triton.language.extra, "libdevice"):
    from triton.language.extra import libdevice
else:
    libdevice = None


@triton.jit
def add_tanh_fast(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(z + i, libdevice.tanh(tl.load(x + i, mask=m, other=0.0) + tl.load(y + i, mask=m, other=0.0)), mask=m)


@triton.jit
def add_tanh_plain(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    s = tl.load(x + i, mask=m, other=0.0) + tl.load(y + i, mask=m, other=0.0)
    tl.store(z + i, 2.0 * tl.sigmoid(2.0 * s) - 1.0, mask=m)


def block_for_device(device):
    props = torch.cuda.get_device_properties(device)
    major, _ = torch.cuda.get_device_capability(device)
    return 2048 if major >= 9 and props.multi_processor_count > 100 else 1024


if libdevice is not None:

    class ModelNew(nn.Module):
        def forward(self, x, y):
            x, y = x.contiguous(), y.contiguous()
            out = torch.empty_like(x)
            block = block_for_device(x.device)
            add_tanh_fast[(triton.cdiv(x.numel(), block),)](x, y, out, x.numel(), BLOCK=block)
            return out

else:

    class ModelNew(nn.Module):
        def forward(self, x, y):
            x, y = x.contiguous(), y.contiguous()
            out = torch.empty_like(x)
            add_tanh_plain[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
            return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(3, 700), torch.randn(3, 700)]
