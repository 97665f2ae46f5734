# kernel_type: elementwise
# complexity: low
# outcome: works
# near: missing-mask, int32-overflow
"""Embedding lookup: the row of the table is loaded data, the columns are masked."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lookup(ids_ptr, table_ptr, out_ptr, dim, BLOCK_D: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    word = tl.load(ids_ptr + token)
    d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    keep = d < dim
    vec = tl.load(table_ptr + word * dim + d, mask=keep)
    tl.store(out_ptr + token * dim + d, vec, mask=keep)


class ModelNew(nn.Module):
    def __init__(self, words, dim):
        super().__init__()
        self.emb = nn.Embedding(words, dim)

    def forward(self, ids):
        flat = ids.contiguous().view(-1)
        dim = self.emb.weight.shape[1]
        out = torch.empty(flat.numel(), dim, device=ids.device, dtype=self.emb.weight.dtype)
        grid = (flat.numel(), triton.cdiv(dim, 128))
        lookup[grid](flat, self.emb.weight, out, dim, BLOCK_D=128)
        return out.view(*ids.shape, dim)


def get_init_inputs():
    return [100, 48]


def get_inputs():
    return [torch.randint(0, 100, (4, 11))]
