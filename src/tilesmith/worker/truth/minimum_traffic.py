"""The bytes any honest kernel must move: a time below what the memory allows for them is not believed.

Only input elements that the output really depends on count (those with a gradient), because a task may read
a slice; parameters do not count, because packing them ahead is legitimate; outputs count beyond what a cache
could hold back. The floor is low on purpose: it must never accuse an honest kernel.
"""

from __future__ import annotations

import torch

from tilesmith.worker.task.forward_arguments import ForwardArguments, call
from tilesmith.worker.tensors.exchange import flatten, map_tensors, tensors_in
from tilesmith.worker.truth.variant import Variant


def necessary_bytes(variant: Variant) -> int:
    inputs = variant.inputs("own")
    leaves = map_tensors(inputs, _with_gradient)
    try:
        outputs = [t for t in _forward(variant, leaves) if t.requires_grad]
        if not outputs:
            return 0
        torch.autograd.backward(outputs, [torch.randn_like(t) for t in outputs])
        read = sum(_touched(t) for t in tensors_in(leaves))
        pointers = {t.data_ptr() for t in tensors_in(leaves)}
        written = sum(t.numel() * t.element_size() for t in outputs if t.data_ptr() not in pointers)
        return read + written
    except torch.OutOfMemoryError:
        raise
    except Exception:
        return 0  # a floor that cannot be found accuses nobody
    finally:
        variant.model.zero_grad(set_to_none=True)


def _forward(variant: Variant, leaves: ForwardArguments) -> list[torch.Tensor]:
    outputs = call(variant.model, leaves)
    tensors: list[torch.Tensor] = []
    map_tensors(outputs, tensors.append)
    return tensors or flatten(outputs).tensors


def _with_gradient(tensor: torch.Tensor) -> torch.Tensor:
    copy = tensor.clone()
    return copy.requires_grad_() if copy.is_floating_point() else copy


def _touched(tensor: torch.Tensor) -> int:
    if tensor.grad is None:
        return 0
    return int(tensor.grad.count_nonzero()) * tensor.element_size()
