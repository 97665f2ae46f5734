# kernel_type: recurrent_host_loop
# complexity: high
# outcome: works
# near: small-launch-count
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def step(z_ptr, w_ptr, mem_ptr, spike_ptr, when, units, neurons, leak, THRESHOLD: tl.constexpr, BLOCK: tl.constexpr):
    """Leaky integrate-and-fire: the membrane lives in mem_ptr and is updated in place."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    alive = i < units
    mem = tl.load(mem_ptr + i, mask=alive, other=0.0)
    gain = tl.load(w_ptr + i % neurons, mask=alive, other=0.0)
    mem = leak * mem + gain * tl.load(z_ptr + when * units + i, mask=alive, other=0.0)
    fired = (mem > THRESHOLD).to(tl.float32)
    tl.store(spike_ptr + when * units + i, fired, mask=alive)
    tl.store(mem_ptr + i, mem * (1.0 - fired), mask=alive)


def simulate(z, gain, leak):
    ticks, batch, neurons = z.shape
    units = batch * neurons
    mem = torch.zeros(units, device=z.device, dtype=z.dtype)
    spikes = torch.empty_like(z)
    grid = (triton.cdiv(units, 256),)
    for tick in range(ticks):  #! time-loop-on-host
        step[grid](z, gain, mem, spikes, tick, units, neurons, leak, THRESHOLD=1.0, BLOCK=256)
    return spikes


class ModelNew(nn.Module):
    def __init__(self, neurons, leak):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(neurons))
        self.leak = leak

    def forward(self, z):
        return simulate(z.contiguous(), self.gain, self.leak)


def get_init_inputs():
    return [30, 0.9]


def get_inputs():
    return [torch.randn(8, 4, 30)]
