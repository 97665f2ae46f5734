# kernel_type: elementwise
# complexity: low
# outcome: works
"""Token plus position embedding; one program per token and tile of features."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def embed(ids, tokens, positions, out, length, width, TILE: tl.constexpr):
    token = tl.program_id(0)
    feature = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inside = feature < width
    row = tl.load(ids + token)
    t = tl.load(tokens + row * width + feature, mask=inside)
    p = tl.load(positions + (token % length) * width + feature, mask=inside)
    tl.store(out + token * width + feature, t + p, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, vocabulary, length, width):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(length, width)

    def forward(self, ids):
        batch, length = ids.shape
        width = self.tokens.weight.size(1)
        out = torch.empty(batch, length, width, device=ids.device, dtype=self.tokens.weight.dtype)
        tile = min(1024, triton.next_power_of_2(width))
        embed[(batch * length, triton.cdiv(width, tile))](
            ids.contiguous(), self.tokens.weight, self.positions.weight, out, length, width, TILE=tile
        )
        return out


def get_init_inputs():
    return [100, 16, 48]


def get_inputs():
    return [torch.randint(0, 100, (3, 16))]
