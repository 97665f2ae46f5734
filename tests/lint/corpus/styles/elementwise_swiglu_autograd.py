# kernel_type: elementwise
# complexity: low
# outcome: works
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def _swiglu_forward_kernel(a_ptr, b_ptr, c_ptr, stride, n_cols: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    program_id = tl.program_id(0).to(tl.int64)
    a_ptr += program_id * stride
    b_ptr += program_id * stride
    c_ptr += program_id * stride
    col_offsets = tl.arange(0, BLOCK_SIZE)
    mask = col_offsets < n_cols
    a_row = tl.load(a_ptr + col_offsets, mask=mask, other=0).to(tl.float32)
    b_row = tl.load(b_ptr + col_offsets, mask=mask, other=0)
    tl.store(c_ptr + col_offsets, silu(a_row).cast(b_row.dtype) * b_row, mask=mask)


@triton.jit
def _swiglu_backward_kernel(dc_ptr, a_ptr, b_ptr, stride, n_cols: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * stride
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    dc = tl.load(dc_ptr + row + cols, mask=mask, other=0)
    a = tl.load(a_ptr + row + cols, mask=mask, other=0).to(tl.float32)
    b = tl.load(b_ptr + row + cols, mask=mask, other=0)
    sig = tl.sigmoid(a)
    tl.store(a_ptr + row + cols, dc * (a * sig * (1 - sig) + sig) * b, mask=mask)
    tl.store(b_ptr + row + cols, dc * a * sig, mask=mask)


def calculate_settings(n):
    BLOCK_SIZE = triton.next_power_of_2(n)
    num_warps = 4
    if BLOCK_SIZE >= 32768:
        num_warps = 32
    elif BLOCK_SIZE >= 8192:
        num_warps = 16
    elif BLOCK_SIZE >= 2048:
        num_warps = 8
    return BLOCK_SIZE, num_warps


class SwiGLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        shape = a.shape
        n_cols = shape[-1]
        a = a.contiguous().view(-1, n_cols)
        b = b.contiguous().view(-1, n_cols)
        c = torch.empty_like(a)
        BLOCK_SIZE, num_warps = calculate_settings(n_cols)
        _swiglu_forward_kernel[(a.shape[0],)](
            a, b, c, c.stride(-2), n_cols=n_cols, BLOCK_SIZE=BLOCK_SIZE, num_warps=num_warps
        )
        ctx.save_for_backward(a, b)
        return c.view(*shape)

    @staticmethod
    def backward(ctx, dc):
        a, b = ctx.saved_tensors
        n_cols = a.shape[-1]
        dc = dc.contiguous().view(-1, n_cols)
        BLOCK_SIZE, num_warps = calculate_settings(n_cols)
        _swiglu_backward_kernel[(a.shape[0],)](
            dc, a, b, dc.stride(-2), n_cols=n_cols, BLOCK_SIZE=BLOCK_SIZE, num_warps=num_warps
        )
        return a, b


class ModelNew(nn.Module):
    def forward(self, gate, up):
        return SwiGLU.apply(gate, up)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 7, 100), torch.randn(2, 7, 100)]
