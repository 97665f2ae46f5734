# kernel_type: reduction
# complexity: low
# outcome: works
# near: time-loop-on-host
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def channel_mean_kernel(x_ptr, out_ptr, pixels, BLOCK: tl.constexpr):
    channel = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + channel * pixels + offs, mask=offs < pixels, other=0.0)
    tl.store(out_ptr + channel, tl.sum(x, axis=0) / pixels)


class ModelNew(nn.Module):
    """Global average pooling, one launch for every image of the batch."""

    def forward(self, x):
        N, C, H, W = x.shape
        x = x.contiguous()
        out = torch.empty(N, C, device=x.device, dtype=x.dtype)
        for n in range(N):  #! small-launch-count
            channel_mean_kernel[(C,)](x[n], out[n], H * W, BLOCK=triton.next_power_of_2(H * W))
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(4, 6, 7, 7)]
