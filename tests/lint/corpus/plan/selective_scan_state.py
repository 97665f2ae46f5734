# kernel_type: persistent_recurrent
# complexity: persistent
# outcome: works
# near: grid-batch-only, no-tensor-core, register-budget, scalar-vector-loop
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def selective_scan_fwd(
    u_ptr, delta_ptr, A_ptr, B_ptr, C_ptr, D_ptr, y_ptr,
    length, dim,
    u_batch_stride, u_dim_stride,
    bc_batch_stride, bc_state_stride,
    BLOCK_D: tl.constexpr, N: tl.constexpr,
):
    """
    x_t = exp(delta_t * A) * x_{t-1} + delta_t * B_t * u_t
    y_t = <C_t, x_t> + D * u_t
    """
    pid_b, pid_d = tl.program_id(0), tl.program_id(1)
    d = pid_d * BLOCK_D + tl.arange(0, BLOCK_D)
    n = tl.arange(0, N)
    in_d = d < dim
    A = tl.load(A_ptr + d[:, None] * N + n[None, :], mask=in_d[:, None], other=0.0)
    skip = tl.load(D_ptr + d, mask=in_d, other=0.0)
    state = tl.zeros((BLOCK_D, N), dtype=tl.float32)
    u_base = u_ptr + pid_b * u_batch_stride + d * u_dim_stride
    dt_base = delta_ptr + pid_b * u_batch_stride + d * u_dim_stride
    y_base = y_ptr + pid_b * u_batch_stride + d * u_dim_stride
    b_base = B_ptr + pid_b * bc_batch_stride + n * bc_state_stride
    c_base = C_ptr + pid_b * bc_batch_stride + n * bc_state_stride
    for l in range(0, length):
        u = tl.load(u_base + l, mask=in_d, other=0.0)
        dt = tl.load(dt_base + l, mask=in_d, other=0.0)
        b = tl.load(b_base + l)
        c = tl.load(c_base + l)
        state = tl.exp(dt[:, None] * A) * state + (dt * u)[:, None] * b[None, :]
        y = tl.sum(state * c[None, :], axis=1) + skip * u
        tl.store(y_base + l, y, mask=in_d)


class ModelNew(nn.Module):
    def __init__(self, dim, state):
        super().__init__()
        self.A_log = nn.Parameter(torch.rand(dim, state))
        self.D = nn.Parameter(torch.ones(dim))
        self.state = state

    def forward(self, u, delta, B, C):
        batch, dim, length = u.shape
        u, delta = u.contiguous(), F.softplus(delta).contiguous()
        B, C = B.contiguous(), C.contiguous()
        A = -torch.exp(self.A_log)
        y = torch.empty_like(u)
        grid = (batch, triton.cdiv(dim, 32))
        selective_scan_fwd[grid](
            u, delta, A, B, C, self.D, y, length, dim,
            u.stride(0), u.stride(1), B.stride(0), B.stride(1),
            BLOCK_D=32, N=self.state, num_warps=4,
        )
        return y


def get_init_inputs():
    return [48, 16]


def get_inputs():
    return [torch.randn(2, 48, 10), torch.randn(2, 48, 10), torch.randn(2, 16, 10), torch.randn(2, 16, 10)]
