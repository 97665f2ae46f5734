"""Counts the operators a forward pass dispatches and the arithmetic they do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

from tilesmith.worker.compat.torch_names import TorchDispatchMode
from tilesmith.worker.task.recurrent_shapes import RecurrentCall, recurrent_by_shape
from tilesmith.worker.tensors.exchange import tensors_in

FREE_OPS = {"detach", "empty", "empty_like", "new_empty", "_unsafe_view", "lift_fresh", "alias"}
GATHERS = {"embedding", "index", "index_select", "gather"}


class OpCounter(TorchDispatchMode):
    """Sees every operator below autograd: how often each ran and how many FLOPs it took."""

    def __init__(self) -> None:
        super().__init__()
        self.ops: Counter[str] = Counter()
        self.pointwise_flops = 0
        self.tensor_flops: Counter[str] = Counter()
        """FLOPs of contractions (what tensor cores can do), by the dtype of their operands."""
        self.gathered_elements: Counter[int] = Counter()
        """For tables that are only looked up in: id of the tensor -> elements read from it."""

    @property
    def flops(self) -> int:
        return self.pointwise_flops + sum(self.tensor_flops.values())

    def add_recurrent(self, call: RecurrentCall) -> None:
        self.ops[f"aten.{call.kind}"] += 1
        self.tensor_flops[_name(call.dtype)] += call.matmul_flops
        self.pointwise_flops += call.pointwise_flops

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        packet = func.overloadpacket
        if packet.__name__ in FREE_OPS or func.namespace != "aten" or func.is_view:
            return result
        if packet.__name__ in GATHERS:
            self.gathered_elements[id(args[0])] += _elements_touched((), result)
        self.ops[str(packet)] += 1
        contraction = _contraction_flops(packet, args, kwargs, result)
        if contraction is None:
            self.pointwise_flops += _elements_touched(args, result)
        else:
            first = next(iter(tensors_in([args, result])), None)
            self.tensor_flops[_name(first.dtype) if first is not None else "float32"] += contraction
        return result


@contextmanager
def counting(by_shape: bool = True) -> Iterator[OpCounter]:
    """Counts what runs inside; `by_shape` skips the steps of recurrent layers (fake tensors only)."""
    counter = OpCounter()
    if by_shape:
        with recurrent_by_shape(counter.add_recurrent), counter:
            yield counter
    else:
        with counter:
            yield counter


def _contraction_flops(packet: Any, args: Any, kwargs: Any, result: Any) -> int | None:
    """Torch's own formula for attention refuses keys with fewer heads than the queries."""
    if "scaled_dot_product" in packet.__name__ and "backward" not in packet.__name__:
        query, key, value = args[:3]
        pairs = query.shape[:-1].numel() * key.shape[-2]
        return int(2 * pairs * (query.shape[-1] + value.shape[-1]))
    formula = flop_registry.get(packet)
    return int(formula(*args, **kwargs, out_val=result)) if formula is not None else None


def _elements_touched(args: Any, result: Any) -> int:
    return max((tensor.numel() for tensor in tensors_in([list(args), result])), default=0)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
