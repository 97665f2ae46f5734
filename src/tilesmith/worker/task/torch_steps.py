"""Which operators of torch computed something in a call, and on how many elements.

Read by the reference for the task and by the candidate's process for the candidate: where torch does every step of
the task itself, kernels beside it are decoys, whatever they do with the result.
"""

from __future__ import annotations

from typing import Any

import torch

from tilesmith.worker.compat.torch_names import TorchDispatchMode
from tilesmith.worker.tensors.exchange import tensors_in

Step = tuple[str, int]
"""Kind of operator, elements of the largest tensor that it reads or makes."""
MOST_STEPS = 4096
_NEARLY = 0.9
_SYNONYMS = {
    **dict.fromkeys(("mm", "addmm", "bmm", "baddbmm", "matmul", "linear", "mv", "addmv", "dot"), "matmul"),
    **dict.fromkeys(("convolution", "cudnn_convolution", "mkldnn_convolution", "_convolution"), "convolution"),
    **dict.fromkeys(("_softmax", "softmax", "special_softmax"), "softmax"),
    **dict.fromkeys(("_log_softmax", "log_softmax"), "log_softmax"),
    **dict.fromkeys(("rsqrt", "sqrt"), "sqrt"),
}
_NO_WORK = (
    *("_local_scalar_dense", "_reshape_alias", "_to_copy", "_unsafe_view", "alias", "arange", "as_strided"),
    *("bernoulli", "broadcast_tensors", "cat", "chunk", "clone", "contiguous", "copy", "detach", "diagonal"),
    *("empty", "empty_like", "empty_strided", "equal", "expand", "eye", "fill", "flatten", "full"),
    *("full_like", "index_select", "is_nonzero", "isfinite", "isnan", "item", "lift", "lift_fresh"),
    *("linspace", "narrow", "new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros"),
    *("ones", "ones_like", "permute", "rand", "rand_like", "randint", "randn", "randn_like", "repeat"),
    *("reshape", "resize", "resolve_conj", "resolve_neg", "scalar_tensor", "select", "set", "slice"),
    *("split", "split_with_sizes", "squeeze", "stack", "t", "to", "transpose", "tril", "triu", "unbind"),
    *("unfold", "unsqueeze", "view", "view_as", "view_as_real", "zero", "zeros", "zeros_like"),
)
"""They make, move or look at values, and compute none."""


def step_of(func: Any, sources: list[torch.Tensor], result: Any) -> Step | None:
    if getattr(func, "namespace", "aten") != "aten":
        return None  # an operator that somebody registered, the candidate perhaps
    name = str(func.overloadpacket.__name__) if hasattr(func, "overloadpacket") else str(func)
    kind = name.rstrip("_")
    if kind in _NO_WORK:
        return None
    largest = max((tensor.numel() for tensor in (*sources, *tensors_in([result]))), default=0)
    return _SYNONYMS.get(kind, kind), largest


class TorchStepLog(TorchDispatchMode):
    """While active, lists what torch computes."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[Step] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        step = step_of(func, tensors_in([args, kwargs or {}]), result)
        if step is not None:
            self.taken.append(step)
        return result


def covers(candidate: list[Step], task: list[Step]) -> bool:
    """Whether the candidate's steps contain every kind of step of the task, on nearly as many elements in all."""
    done, needed = _totals(candidate), _totals(task)
    return bool(needed) and all(done.get(kind, 0) >= _NEARLY * size for kind, size in needed.items())


def _totals(steps: list[Step]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for kind, size in steps:
        totals[kind] = totals.get(kind, 0) + size
    return totals
