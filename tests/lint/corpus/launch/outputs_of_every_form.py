# kernel_type: elementwise
# complexity: low
# outcome: works
# near: output-not-written, grid-coverage
"""Outputs in a list, in a preallocated buffer, from a helper, as a view, sliced, written by torch, or by a callee."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _put(ptr, at, value, keep):
    tl.store(ptr + at, value, mask=keep)


@triton.jit
def scaled(x_ptr, y_ptr, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = at < n
    _put(y_ptr, at, tl.load(x_ptr + at, mask=keep) * factor, keep)


@triton.jit
def shifted(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    where = y_ptr + at
    value = tl.load(x_ptr + at, mask=at < n) + 1.0
    tl.store(where, value, mask=at < n)


def allocate(like):
    return torch.empty_like(like)


def run(kernel, x, out, *rest):
    n = x.numel()
    kernel[(triton.cdiv(n, 256),)](x, out, n, *rest, BLOCK=256)
    return out


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("kept", torch.empty(4, width), persistent=False)

    def forward(self, x):
        x = x.contiguous()
        n = x.numel()
        outs = [torch.empty_like(x) for _ in range(3)]
        for i, out in enumerate(outs):
            scaled[(triton.cdiv(n, 256),)](x, out, n, float(i), BLOCK=256)
        helper = run(shifted, x, allocate(x))
        direct = run(scaled, x, torch.empty_like(x), 2.0)
        scaled[(triton.cdiv(n, 256),)](x, self.kept, n, 0.5, BLOCK=256)
        both = torch.empty(2, *x.shape, device=x.device)
        shifted[(triton.cdiv(n, 256),)](x, both[0], n, BLOCK=256)
        both[1].copy_(direct)
        flat = torch.empty(n, device=x.device)
        view = flat.view_as(x)
        shifted[(triton.cdiv(n, 256),)](helper, view, n, BLOCK=256)
        copied = torch.empty_like(x)
        copied[:] = outs[2]
        summed = torch.empty_like(x)
        torch.add(flat.view_as(x), copied, out=summed)
        return outs[0] + outs[1] + summed + both.sum(0) + self.kept


def get_init_inputs():
    return [20]


def get_inputs():
    return [torch.randn(4, 20)]
