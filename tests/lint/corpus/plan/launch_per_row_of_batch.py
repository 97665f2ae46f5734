# kernel_type: elementwise
# complexity: low
# outcome: works
# near: time-loop-on-host, output-not-written
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gather_row(table_ptr, index_ptr, out_ptr, width, BLOCK: tl.constexpr):
    word = tl.load(index_ptr + tl.program_id(0))
    cols = tl.arange(0, BLOCK)
    row = tl.load(table_ptr + word * width + cols, mask=cols < width, other=0.0)
    tl.store(out_ptr + tl.program_id(0) * width + cols, row, mask=cols < width)


class ModelNew(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.table = nn.Parameter(torch.randn(words, width))

    def look_up(self, sentence, out):
        width = self.table.shape[1]
        gather_row[(sentence.numel(),)](self.table, sentence, out, width, BLOCK=triton.next_power_of_2(width))

    def forward(self, tokens):
        out = torch.empty(*tokens.shape, self.table.shape[1], device=tokens.device, dtype=self.table.dtype)
        for sentence, rows in zip(tokens, out):  #! small-launch-count
            self.look_up(sentence, rows)
        return out


def get_init_inputs():
    return [100, 24]


def get_inputs():
    return [torch.randint(0, 100, (4, 9))]
