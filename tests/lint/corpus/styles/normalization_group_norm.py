# kernel_type: normalization
# complexity: medium
# outcome: works
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 512}, num_warps=4),
        triton.Config({"BLOCK": 1024}, num_warps=4),
        triton.Config({"BLOCK": 4096}, num_warps=8),
    ],
    key=["group_size"],
)
@triton.jit
def group_norm_silu(X, W, B, Y, group_size, spatial, groups, channels_per_group, eps, BLOCK: tl.constexpr):
    ng = tl.program_id(0)
    g = ng % groups
    base = ng * group_size
    s1 = 0.0
    s2 = 0.0
    for off in range(0, group_size, BLOCK):
        i = off + tl.arange(0, BLOCK)
        x = tl.load(X + base + i, mask=i < group_size, other=0.0)
        s1 += tl.sum(x)
        s2 += tl.sum(x * x)
    mean = s1 / group_size
    var = s2 / group_size - mean * mean
    rstd = tl.rsqrt(var + eps)
    for off in range(0, group_size, BLOCK):
        i = off + tl.arange(0, BLOCK)
        inside = i < group_size
        c = g * channels_per_group + i // spatial
        x = tl.load(X + base + i, mask=inside, other=0.0)
        w = tl.load(W + c, mask=inside, other=0.0)
        b = tl.load(B + c, mask=inside, other=0.0)
        y = (x - mean) * rstd * w + b
        tl.store(Y + base + i, y * tl.sigmoid(y), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.groups = groups
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        x = x.contiguous()
        n, c, *rest = x.shape
        spatial = x[0, 0].numel()
        y = torch.empty_like(x)
        per = c // self.groups
        group_norm_silu[(n * self.groups,)](
            x, self.weight, self.bias, y, per * spatial, spatial, self.groups, per, 1e-5
        )
        return y


def get_init_inputs():
    return [4, 12]


def get_inputs():
    return [torch.randn(2, 12, 15, 17)]
