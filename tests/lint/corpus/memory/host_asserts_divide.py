# kernel_type: elementwise
# complexity: low
# outcome: works
# near: missing-mask, grid-coverage, contiguity-assumed
import torch
import torch.nn as nn
import triton
import triton.language as tl

BLOCK = 256


@triton.jit
def gated_gelu(up, gate, out, BLOCK_SIZE: tl.constexpr):
    i = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    u = tl.load(up + i)
    g = tl.load(gate + i)
    g = 0.5 * g * (1.0 + tl.erf(g * 0.7071067811865476))
    tl.store(out + i, u * g)


class ModelNew(nn.Module):
    def forward(self, up, gate):
        assert up.is_contiguous() and gate.is_contiguous()
        count = up.numel()
        assert count % BLOCK == 0, "the hidden size is a multiple of 256"
        out = torch.empty_like(up)
        gated_gelu[(count // BLOCK,)](up, gate, out, BLOCK_SIZE=BLOCK)
        return out


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(8, 512), torch.randn(8, 512)]
