# kernel_type: reduction
# complexity: low
# outcome: works
# near: atomic-order, missing-mask, output-not-written
"""Give every token a slot in its expert's queue (integer counter) and keep the largest gate per expert (atomic max)."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def assign_slots(expert, gate, slot, filled, top_gate, tokens, BLOCK: tl.constexpr):
    t = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = t < tokens
    e = tl.load(expert + t, mask=ok, other=0)
    g = tl.load(gate + t, mask=ok, other=0.0)
    mine = tl.atomic_add(filled + e, 1, mask=ok)
    tl.atomic_max(top_gate + e, g, mask=ok)
    tl.store(slot + t, mine, mask=ok)


class ModelNew(nn.Module):
    def __init__(self, experts):
        super().__init__()
        self.experts = experts

    def forward(self, expert, gate):
        expert, gate = expert.contiguous(), gate.contiguous()
        tokens = expert.numel()
        slot = torch.empty(tokens, dtype=torch.int32, device=expert.device)
        filled = torch.zeros(self.experts, dtype=torch.int32, device=expert.device)
        top_gate = torch.full((self.experts,), -1.0e30, device=expert.device)
        assign_slots[(triton.cdiv(tokens, 128),)](expert, gate, slot, filled, top_gate, tokens, BLOCK=128)
        return slot, filled, top_gate


def get_init_inputs():
    return [8]


def get_inputs():
    return [torch.randint(0, 8, (500,)), torch.rand(500)]
