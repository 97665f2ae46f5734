# kernel_type: reduction
# complexity: low
# outcome: works
# near: missing-mask
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def best_class(logits_ptr, label_ptr, n_classes, row_stride, BLOCK: tl.constexpr):
    sample = tl.program_id(0)
    classes = tl.arange(0, BLOCK)
    valid = classes < n_classes
    row = tl.load(logits_ptr + sample * row_stride + classes, mask=valid)  #! missing-other
    label = tl.argmax(row, axis=0)
    tl.store(label_ptr + sample, label.to(tl.int64))


def predict(logits):
    batch, n_classes = logits.shape
    labels = torch.empty(batch, dtype=torch.int64, device=logits.device)
    best_class[(batch,)](logits, labels, n_classes, logits.stride(0), BLOCK=triton.next_power_of_2(n_classes))
    return labels


class ModelNew(nn.Module):
    def forward(self, logits):
        return predict(logits.contiguous())


def get_init_inputs():
    return []


def get_inputs():
    return [-torch.rand(10, 1000)]
