# kernel_type: reduction
# complexity: medium
# outcome: works
# near: missing-other
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def argmax_rows(logits, winners, vocab, row_stride, CHUNK: tl.constexpr):
    row = tl.program_id(0)
    logits += row * row_stride
    best_value = -float("inf")
    best_index = 0
    for chunk in range(tl.cdiv(vocab, CHUNK)):
        ids = chunk * CHUNK + tl.arange(0, CHUNK)
        values = tl.load(logits + ids, mask=ids < vocab, other=-float("inf")).to(tl.float32)
        top, where_top = tl.max(values, axis=0, return_indices=True)
        better = top > best_value
        best_index = tl.where(better, chunk * CHUNK + where_top, best_index)
        best_value = tl.where(better, top, best_value)
    tl.store(winners + row, best_index.to(tl.int64))


class ModelNew(nn.Module):
    def forward(self, logits):
        flat = logits.reshape(-1, logits.shape[-1])
        winners = torch.empty(flat.shape[0], dtype=torch.int64, device=logits.device)
        argmax_rows[(flat.shape[0],)](flat, winners, flat.shape[1], flat.stride(0), CHUNK=1024)
        return winners.view(logits.shape[:-1])


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 5, 3000)]
