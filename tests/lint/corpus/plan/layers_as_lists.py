# kernel_type: persistent_recurrent
# complexity: persistent
# outcome: works
# near: time-loop-on-host, small-launch-count, grid-batch-only
"""A stack of leaky layers kept as plain lists. `t` counts layers here, and `states[t]` is data: still no time loop."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def leaky_layer(x, a, s0, y, last, n_time, n_unit, BLOCK: tl.constexpr):
    u = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    b = tl.program_id(1)
    m = u < n_unit
    decay = tl.sigmoid(tl.load(a + u, mask=m, other=0.0))
    s = tl.load(s0 + b * n_unit + u, mask=m, other=0.0)
    for k in range(n_time):
        v = tl.load(x + (b * n_time + k) * n_unit + u, mask=m, other=0.0)
        s = decay * s + (1 - decay) * tl.maximum(v, 0.0)
        tl.store(y + (b * n_time + k) * n_unit + u, s, mask=m)
    tl.store(last + b * n_unit + u, s, mask=m)


def run_stack(x, decays, states):
    batch, n_time, n_unit = x.shape
    finals = torch.empty_like(states)
    for t in range(len(decays)):
        y = torch.empty_like(x)
        leaky_layer[(triton.cdiv(n_unit, 64), batch)](
            x, decays[t], states[t], y, finals[t], n_time, n_unit, BLOCK=64
        )
        x = y
    return x, finals


class ModelNew(nn.Module):
    def __init__(self, units, depth):
        super().__init__()
        self.decays = nn.ParameterList([nn.Parameter(torch.randn(units)) for _ in range(depth)])

    def forward(self, x, states):
        return run_stack(x.contiguous(), list(self.decays), states.contiguous())


def get_init_inputs():
    return [50, 3]


def get_inputs():
    return [torch.randn(2, 6, 50), torch.randn(3, 2, 50)]
