# kernel_type: elementwise
# complexity: low
# outcome: works
# near: autotune-key-missing
"""Channel scaling on (N, C, H*W); the grid comes from a named function that drops the last columns."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    [triton.Config({"COLS": c}, num_warps=w) for c, w in ((256, 2), (512, 4), (1024, 4))],
    ["spatial"],
)
@triton.jit
def scale_channels(p0, p1, p2, channels, spatial, COLS: tl.constexpr):
    plane = tl.program_id(1)
    cols = tl.program_id(0) * COLS + tl.arange(0, COLS)
    gamma = tl.load(p1 + plane % channels)
    base = plane * spatial
    inside = cols < spatial
    v = tl.load(p0 + base + cols, mask=inside)
    tl.store(p2 + base + cols, v * gamma, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, c, h, w = x.shape
        x = x.contiguous()
        out = x.new_empty(x.shape)

        def launch_grid(meta):
            return h * w // meta["COLS"], n * c  #! grid-coverage

        scale_channels[launch_grid](x, self.gamma, out, c, h * w)
        return out


def get_init_inputs():
    return [6]


def get_inputs():
    return [torch.randn(2, 6, 15, 15)]
