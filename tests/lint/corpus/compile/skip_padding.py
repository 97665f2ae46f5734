# kernel_type: reduction
# complexity: medium
# outcome: fails
"""Bag of embeddings: padding ids are skipped, and so are tokens past the end of the bag."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bag_sum(ids, table, out, n_tokens, dim, PAD: tl.constexpr, DIM: tl.constexpr):
    bag = tl.program_id(0)
    d = tl.arange(0, DIM)
    acc = tl.zeros((DIM,), dtype=tl.float32)
    for t in range(n_tokens):
        token = tl.load(ids + bag * n_tokens + t)
        if token == PAD:
            continue  #! break-in-kernel
        acc += tl.load(table + token * dim + d, mask=d < dim, other=0.0)
    tl.store(out + bag * dim + d, acc, mask=d < dim)


class ModelNew(nn.Module):
    def __init__(self, vocabulary, dim, pad=0):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocabulary, dim))
        self.pad = pad

    def forward(self, ids):
        ids = ids.contiguous()
        bags, tokens = ids.shape
        dim = self.table.shape[1]
        out = torch.empty(bags, dim, device=ids.device, dtype=self.table.dtype)
        bag_sum[(bags,)](ids, self.table, out, tokens, dim, PAD=self.pad, DIM=triton.next_power_of_2(dim))
        return out


def get_init_inputs():
    return [30, 20]


def get_inputs():
    return [torch.randint(0, 30, (4, 11))]
