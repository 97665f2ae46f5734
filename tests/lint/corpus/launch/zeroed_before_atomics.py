# kernel_type: reduction
# complexity: low
# outcome: works
# near: output-not-written, grid-coverage
"""Accumulators that atomics may add to: zeros, zero_(), fill_, a pre-zeroed buffer, or a kernel that clears first."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_up(ids_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr + tl.load(ids_ptr + at, mask=at < n, other=0), 1, mask=at < n)


@triton.jit
def clear(out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.zeros([BLOCK], tl.int32), mask=at < n)


def new_counter(like, n):
    counter = torch.empty(n, dtype=torch.int32, device=like.device)
    counter.zero_()
    return counter


class ModelNew(nn.Module):
    def __init__(self, bins):
        super().__init__()
        self.bins = bins
        self.register_buffer("scratch", torch.zeros(bins, dtype=torch.int32), persistent=False)

    def forward(self, ids):
        n = ids.numel()
        grid = (triton.cdiv(n, 512),)
        plain = torch.zeros(self.bins, dtype=torch.int32, device=ids.device)
        add_up[grid](ids, plain, n, BLOCK=512)
        made = new_counter(ids, self.bins)
        add_up[grid](ids, made, n, BLOCK=512)
        filled = torch.empty_like(plain).fill_(0)
        add_up[grid](ids, filled, n, BLOCK=512)
        cleared = torch.empty_like(plain)
        clear[(triton.cdiv(self.bins, 64),)](cleared, self.bins, BLOCK=64)
        add_up[grid](ids, cleared, n, BLOCK=512)
        self.scratch.zero_()
        add_up[grid](ids, self.scratch, n, BLOCK=512)
        return plain + made + filled + cleared + self.scratch


def get_init_inputs():
    return [32]


def get_inputs():
    return [torch.randint(0, 32, (2000,))]
