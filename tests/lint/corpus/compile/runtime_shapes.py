# kernel_type: reduction
# complexity: medium
# outcome: fails
"""Histogram-like counts in registers whose number of bins is a run-time value."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def count_kernel(ids_ptr, out_ptr, n, n_bins, BLOCK: tl.constexpr, BINS: tl.constexpr):
    part = tl.program_id(0)
    counts = tl.zeros((n_bins,), dtype=tl.int32)  #! constexpr-misuse
    width = 4
    tiles = tl.full([width, BINS], 0, dtype=tl.int32)  #! constexpr-misuse
    bins = tl.arange(0, BINS)
    for i in tl.static_range(n_bins):  #! constexpr-misuse
        offs = part * BLOCK + tl.arange(0, BLOCK)
        ids = tl.load(ids_ptr + offs, mask=offs < n, other=-1)
        counts += tl.where(bins == i, tl.sum((ids == i).to(tl.int32), axis=0), 0)
    counts += tl.sum(tiles, axis=0)
    tl.store(out_ptr + part * BINS + bins, counts)


class ModelNew(nn.Module):
    def __init__(self, n_bins):
        super().__init__()
        self.n_bins = n_bins

    def forward(self, ids):
        ids = ids.contiguous()
        n = ids.numel()
        parts = triton.cdiv(n, 1024)
        out = torch.empty(parts, 32, device=ids.device, dtype=torch.int32)
        count_kernel[(parts,)](ids, out, n, self.n_bins, BLOCK=1024, BINS=32)
        return out.sum(0)


def get_init_inputs():
    return [20]


def get_inputs():
    return [torch.randint(0, 20, (3000,))]
