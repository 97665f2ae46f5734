# kernel_type: elementwise
# complexity: low
# outcome: fails
"""Bucketize by a linear walk; a device function returns out of its loop."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def find_bucket(value, edges_ptr, n_edges):
    for i in range(n_edges):
        edge = tl.load(edges_ptr + i)
        if value < edge:
            return i  #! return-in-loop
    return n_edges


@triton.jit
def bucketize_kernel(v_ptr, edges_ptr, out_ptr, n_edges):
    pid = tl.program_id(0)
    value = tl.load(v_ptr + pid)
    tl.store(out_ptr + pid, find_bucket(value, edges_ptr, n_edges))


class ModelNew(nn.Module):
    def __init__(self, edges):
        super().__init__()
        self.register_buffer("edges", edges)

    def forward(self, v):
        v = v.contiguous()
        out = torch.empty(v.shape, device=v.device, dtype=torch.int32)
        bucketize_kernel[(v.numel(),)](v, self.edges, out, self.edges.numel())
        return out


def get_init_inputs():
    return [torch.linspace(-2, 2, 9)]


def get_inputs():
    return [torch.randn(40)]
