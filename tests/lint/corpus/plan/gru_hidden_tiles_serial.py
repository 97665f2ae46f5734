# kernel_type: persistent_recurrent
# complexity: persistent
# outcome: works
# near: scalar-vector-loop, no-tensor-core
import torch
import torch.nn as nn
import triton
from triton import language as L


@triton.jit
def squash(v):
    return 1.0 / (1.0 + L.exp(-v))


@triton.jit
def recur(
    pre, wt, bias, state, result,
    steps, width,
    TILE: L.constexpr, FULL: L.constexpr,
):
    """state is [2, rows, width]: step s reads half s % 2 and writes the other one."""
    row = L.program_id(0)
    rows = L.num_programs(0)
    full = L.arange(0, FULL)
    for s in range(steps):  #! grid-batch-only
        src = state + ((s % 2) * rows + row) * width
        dst = state + (((s + 1) % 2) * rows + row) * width
        old = L.load(src + full, mask=full < width, other=0.0)
        for first in range(0, width, TILE):
            unit = first + L.arange(0, TILE)
            ok = unit < width
            both = ok[:, None] & (full < width)[None, :]
            at = unit[:, None] * width + full[None, :]
            r = L.sum(L.load(wt + at, mask=both, other=0.0) * old[None, :], axis=1)
            z = L.sum(L.load(wt + width * width + at, mask=both, other=0.0) * old[None, :], axis=1)
            n = L.sum(L.load(wt + 2 * width * width + at, mask=both, other=0.0) * old[None, :], axis=1)
            gate = pre + (s * rows + row) * 3 * width + unit
            r = squash(r + L.load(gate, mask=ok, other=0.0))
            z = squash(z + L.load(gate + width, mask=ok, other=0.0))
            n = n + L.load(bias + unit, mask=ok, other=0.0)
            n = 2 * squash(2 * (L.load(gate + 2 * width, mask=ok, other=0.0) + r * n)) - 1
            mine = L.load(src + unit, mask=ok, other=0.0)
            new = (1 - z) * n + z * mine
            L.store(dst + unit, new, mask=ok)
            L.store(result + (s * rows + row) * width + unit, new, mask=ok)
        L.debug_barrier()


class ModelNew(nn.Module):
    """The input half of the gates comes from a library product, the recurrence is ours."""

    def __init__(self, n_in, n_hidden):
        super().__init__()
        self.cell = nn.GRU(n_in, n_hidden)
        self.n_hidden = n_hidden

    def forward(self, x):
        steps, rows, _ = x.shape
        width = self.n_hidden
        pre = torch.nn.functional.linear(x, self.cell.weight_ih_l0, self.cell.bias_ih_l0)
        pre[..., : 2 * width] += self.cell.bias_hh_l0[: 2 * width]
        state = torch.zeros(2, rows, width, device=x.device, dtype=x.dtype)
        result = torch.empty(steps, rows, width, device=x.device, dtype=x.dtype)
        recur[(rows,)](
            pre, self.cell.weight_hh_l0, self.cell.bias_hh_l0[2 * width:], state, result,
            steps, width, TILE=16, FULL=triton.next_power_of_2(width),
        )
        return result


def get_init_inputs():
    return [8, 48]


def get_inputs():
    return [torch.randn(5, 4, 8)]
