"""What a CUDA graph remembers of torch's operations: a mode that notes them and computes nothing.

As on a GPU, a capture only fixes which memory each operation reads and writes. Shapes come from running the
operation on fake twins of its arguments; results get memory full of NaN, which the first replay fills.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch

from tilesmith.worker.candidate.guarded_memory import poison
from tilesmith.worker.compat.torch_names import (
    DisableTorchFunction,
    FakeTensorMode,
    TorchDispatchMode,
    UnsupportedOperatorException,
    schema_of,
    storage_of,
    tree_flatten,
    tree_map_only,
    tree_unflatten,
)
from tilesmith.worker.fake_cuda.streams import NOT_WHILE_CAPTURING

Step = Callable[[], None]

_ONLY_ALLOCATE = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"}


class CapturingMode(TorchDispatchMode):
    """Appends to `steps` what must be done to repeat the operations made while it is active."""

    def __init__(self, steps: list[Step]) -> None:
        super().__init__()
        self._steps = steps

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        with self:  # inference mode hands over operations that are made of others
            parts = func.decompose(*args, **kwargs)
        if parts is not NotImplemented:
            return parts
        with DisableTorchFunction():
            return func(*args, **kwargs) if _moves_no_data(func) else self._noted(func, args, kwargs)

    def _noted(self, func: Any, args: Any, kwargs: Any) -> Any:
        if _needs_values(func, args, kwargs):
            raise RuntimeError(f"{NOT_WHILE_CAPTURING} ({func} makes the host wait for values)")
        twins = _FakeArguments(args, kwargs)
        leaves, form = tree_flatten(twins.run(func))
        sources = [twins.original(leaf) for leaf in leaves]
        if not schema_of(func).is_mutable and any(source is not None for source in sources):
            return func(*args, **kwargs)  # a view that its schema does not admit to
        memory = [
            _fresh_like(leaf) if isinstance(leaf, torch.Tensor) and source is None else None
            for leaf, source in zip(leaves, sources, strict=True)
        ]
        if func.overloadpacket.__name__ not in _ONLY_ALLOCATE:
            self._steps.append(_repetition(func, frozen(args), frozen(kwargs), frozen(memory)))
        chosen = zip(memory, sources, leaves, strict=True)
        return tree_unflatten([_first_given(*candidates) for candidates in chosen], form)


def _first_given(*candidates: Any) -> Any:
    return next((one for one in candidates if one is not None), None)


def _moves_no_data(func: Any) -> bool:
    """Views, and changes to a tensor's shape alone: real from the start, and the same at every replay."""
    if torch.Tag.inplace_view in func.tags:
        return True
    aliases = [made.alias_info for made in schema_of(func).returns]
    return any(alias is not None and not alias.is_write for alias in aliases)


def _needs_values(func: Any, args: Any, kwargs: Any) -> bool:
    """Whether the host must read values from the GPU to go on."""
    if torch.Tag.data_dependent_output in func.tags:
        return True
    if func.overloadpacket is torch.ops.aten.index:
        return any(index is not None and index.dtype in (torch.bool, torch.uint8) for index in args[1])
    return torch.Tag.dynamic_output_shape in func.tags and kwargs.get("output_size") is None


class _FakeArguments:
    """Tensors of the same layout as an operation's arguments that it may be tried on."""

    def __init__(self, args: Any, kwargs: Any) -> None:
        self._given = (args, kwargs)
        self._pairs: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def run(self, func: Any) -> Any:
        """The operation's result on fakes, or where those know no answer, on copies."""
        try:
            with FakeTensorMode():
                return self._run(func, _same_layout)
        except (UnsupportedOperatorException, NotImplementedError):
            return self._run(func, torch.clone)

    def _run(self, func: Any, make: Callable[[torch.Tensor], torch.Tensor]) -> Any:
        self._pairs.clear()

        def twin(tensor: torch.Tensor) -> torch.Tensor:
            return self._pairs.setdefault(id(tensor), (tensor, make(tensor)))[1]

        args, kwargs = tree_map_only(torch.Tensor, twin, self._given)
        return func(*args, **kwargs)

    def original(self, result: Any) -> torch.Tensor | None:
        """The argument whose memory the result lies in."""
        if not isinstance(result, torch.Tensor):
            return None
        place = storage_of(result)
        return next((real for real, twin in self._pairs.values() if storage_of(twin) == place), None)


def _same_layout(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)


def _fresh_like(result: torch.Tensor) -> torch.Tensor:
    """Memory for a result: code that forgets the replay must not find an answer there."""
    fresh = torch.empty_strided(result.shape, result.stride(), dtype=result.dtype)
    poison(fresh)
    return fresh


def _repetition(func: Any, args: Any, kwargs: Any, memory: list[torch.Tensor | None]) -> Step:
    def step() -> None:
        leaves, _ = tree_flatten(func(*args, **kwargs))
        for place, leaf in zip(memory, leaves, strict=True):
            if place is not None and leaf is not None:  # kernels leave out what nobody asked for
                place.copy_(leaf)

    return step


def frozen(value: Any) -> Any:
    """The same memory under tensors of our own: a graph keeps addresses, whatever becomes of the objects."""
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(value, dict):
        return {key: frozen(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(frozen, value))
    if isinstance(value, list | tuple):
        return type(value)(map(frozen, value))
    if isinstance(getattr(value, "base", None), torch.Tensor):  # Triton's descriptors and wrappers
        value = copy.copy(value)
        value.base = frozen(value.base)
    return value
