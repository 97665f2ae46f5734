# kernel_type: normalization
# complexity: low
# outcome: works
# near: time-loop-on-host
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def standardize(src, dst, row_len, eps, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < row_len
    v = tl.load(src + r * row_len + c, mask=m, other=0.0)
    mean = tl.sum(v, axis=0) / row_len
    d = tl.where(m, v - mean, 0.0)
    var = tl.sum(d * d, axis=0) / row_len
    tl.store(dst + r * row_len + c, d / tl.sqrt(var + eps), mask=m)


def normalize_plane(plane, eps):
    plane = plane.contiguous()
    out = torch.empty_like(plane)
    rows, row_len = plane.shape
    standardize[(rows,)](plane, out, row_len, eps, BLOCK=triton.next_power_of_2(row_len))
    return out


class ModelNew(nn.Module):
    def __init__(self, eps=1e-5):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        planes = []
        for c in range(x.size(1)):  #! small-launch-count
            planes.append(normalize_plane(x[:, c].flatten(1), self.eps))
        return torch.stack(planes, dim=1).view_as(x)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(3, 5, 6, 6)]
