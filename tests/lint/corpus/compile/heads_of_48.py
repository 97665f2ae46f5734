# kernel_type: normalization
# complexity: low
# outcome: fails
"""L2-normalised heads of 48 channels, the width written out."""
import torch
import torch.nn as nn
import triton
import triton.language as tl

EPS = tl.constexpr(1e-6)


@triton.jit
def normalize_heads(x_ptr, y_ptr, n_rows):
    row = tl.program_id(0)
    d = tl.arange(0, 48)  #! arange-not-power-of-two
    scratch = tl.zeros((48,), dtype=tl.float32)  #! arange-not-power-of-two
    v = tl.load(x_ptr + row * 48 + d).to(tl.float32) + scratch
    norm = tl.sqrt(tl.sum(v * v, axis=0)) + EPS
    tl.store(y_ptr + row * 48 + d, v / norm)


class ModelNew(nn.Module):
    def forward(self, x):
        assert x.shape[-1] == 48 and x.is_contiguous()
        y = torch.empty_like(x)
        rows = x.numel() // 48
        normalize_heads[(rows,)](x, y, rows)
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(4, 8, 48)]
