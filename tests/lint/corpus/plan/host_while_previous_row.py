# kernel_type: recurrent_host_loop
# complexity: high
# outcome: works
# near: small-launch-count, stride-reuse
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def advance(prev_ptr, drive_ptr, coupling_ptr, next_ptr, n, dt, BLOCK: tl.constexpr, FULL: tl.constexpr):
    """One Euler step of a coupled system: next = prev + dt * (drive - C @ prev)."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    col = tl.arange(0, FULL)
    c = tl.load(coupling_ptr + row[:, None] * n + col[None, :],
                mask=(row < n)[:, None] & (col < n)[None, :], other=0.0)
    p = tl.load(prev_ptr + col, mask=col < n, other=0.0)
    pull = tl.sum(c * p[None, :], axis=1)
    mine = tl.load(prev_ptr + row, mask=row < n, other=0.0)
    push = tl.load(drive_ptr + row, mask=row < n, other=0.0)
    tl.store(next_ptr + row, mine + dt * (push - pull), mask=row < n)


class ModelNew(nn.Module):
    def __init__(self, n, dt):
        super().__init__()
        self.dt = dt
        self.coupling = nn.Parameter(torch.randn(n, n) * 0.01)

    def forward(self, start, drive):
        steps, n = drive.shape
        path = torch.empty(steps + 1, n, device=drive.device, dtype=drive.dtype)
        path[0] = start
        BLOCK = 32
        i = 1
        while i <= steps:  #! time-loop-on-host
            advance[(triton.cdiv(n, BLOCK),)](
                path[i - 1], drive[i - 1], self.coupling, path[i], n, self.dt,
                BLOCK=BLOCK, FULL=triton.next_power_of_2(n),
            )
            i += 1
        return path


def get_init_inputs():
    return [50, 0.01]


def get_inputs():
    return [torch.randn(50), torch.randn(6, 50)]
