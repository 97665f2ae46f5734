"""Where the values of a call come from: from torch alone, or through a Triton kernel.

Every result of torch that no kernel has had a hand in is kept. If one of them is the answer already, the kernels
are decoys: they copy it, multiply it by one, check a flag, or look away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from tilesmith.worker.candidate.guarded_memory import is_capturing
from tilesmith.worker.compat.torch_names import TorchDispatchMode, schema_of
from tilesmith.worker.task.torch_steps import Step, step_of
from tilesmith.worker.tensors.exchange import tensors_in

_MOST_BYTES = 2 * 2**30
_FRESH = ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided")


class Provenance(TorchDispatchMode):
    """Active during one call. Launches must be told to it, before and after."""

    def __init__(self, given: Iterable[torch.Tensor], sizes: frozenset[int] | None) -> None:
        """`given` are inputs and parameters, the task's own; `sizes` are those worth keeping, null for all."""
        super().__init__()
        self._given = {_memory(tensor) for tensor in given}
        self._sizes = sizes
        self._by_kernels: set[int] = set()
        self._seen: set[int] = set()
        self._unwritten: set[int] = set()
        """Fresh memory: what it happens to hold is nobody's answer."""
        self._alive: list[torch.Tensor] = []
        """Memory that was given back could be given to another tensor, which would then go unseen."""
        self._held: list[torch.Tensor] = []
        self._before_launch: dict[int, torch.Tensor] = {}
        self._bytes = 0
        self._paused = self._replayed = False
        self.steps: list[Step] = []
        """What torch computed beside the launches."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self._paused:
            return func(*args, **(kwargs or {}))
        sources = tensors_in([args, kwargs or {}])
        for tensor in sources:
            self._meet(tensor)
        result = func(*args, **(kwargs or {}))
        if str(getattr(func, "overloadpacket", func)).rpartition(".")[2] in _FRESH:
            for tensor in tensors_in([result]):
                self.note_fresh(tensor)
        elif schema_of(func).is_mutable:
            self._unwritten.difference_update(map(_memory, tensors_in([result])))
        if (step := step_of(func, sources, result)) is not None:
            self.steps.append(step)
        by_kernels = any(_memory(tensor) in self._by_kernels for tensor in sources)
        for tensor in tensors_in([result]):
            if by_kernels:
                self._mark(tensor)
            else:
                self._hold(tensor)
        return result

    def before_launch(self, arguments: Iterable[Any]) -> None:
        self._paused = True
        self._before_launch = {}
        for tensor in _tensors_behind(arguments):
            if _memory(tensor) not in self._by_kernels | self._given and not is_capturing():
                self._before_launch[id(tensor)] = tensor.detach().clone()

    def after_launch(self, arguments: Iterable[Any]) -> None:
        """What a launch left as it was did not come from it. What it wrote over was nobody's answer."""
        for tensor in _tensors_behind(arguments):
            before = self._before_launch.get(id(tensor))
            if before is None or not _same_bits(before, tensor):
                self._mark(tensor)
            else:
                self._meet(tensor)
        self._paused = False

    @contextmanager
    def paused(self) -> Iterator[None]:
        """What torch does meanwhile is our own doing."""
        before, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = before

    def note_fresh(self, tensor: torch.Tensor) -> None:
        self._unwritten.add(_memory(tensor))
        self._alive.append(tensor)

    def after_replay(self) -> None:
        """A CUDA graph may have written to any tensor that was there before the call."""
        self._replayed = True

    def resembling(self, outputs: list[torch.Tensor]) -> tuple[list[torch.Tensor], list[int]]:
        """What torch alone had made, in the form of the output it may be, and that output's position."""
        pairs = [
            (seen.reshape(output.shape), position)
            for position, output in enumerate(outputs)
            for held in self._held
            if held.numel() == output.numel() and output.is_floating_point()
            if (seen := _as_floats(held, output.dtype)) is not None and not is_blank(seen)
        ]
        return [held for held, _ in pairs], [position for _, position in pairs]

    def _meet(self, tensor: torch.Tensor) -> None:
        """A tensor that came from somewhere else, NumPy for one, is looked at when it is first used."""
        if _memory(tensor) in self._seen or _memory(tensor) in self._by_kernels:
            return
        if self._replayed:
            self._mark(tensor)
        else:
            self._hold(tensor)

    def _hold(self, tensor: torch.Tensor) -> None:
        place, size = _memory(tensor), tensor.numel() * tensor.element_size()
        if place in self._given or place in self._by_kernels or place in self._unwritten:
            return
        self._seen.add(place)
        self._alive.append(tensor)
        wanted = self._sizes is None or tensor.numel() in self._sizes
        if wanted and not tensor.is_complex() and self._bytes + size <= _MOST_BYTES and not is_capturing():
            self._held.append(tensor.detach().clone())
            self._bytes += size

    def _mark(self, tensor: torch.Tensor) -> None:
        if _memory(tensor) not in self._given:
            self._by_kernels.add(_memory(tensor))
            self._alive.append(tensor)


def is_blank(tensor: torch.Tensor) -> bool:
    """One value everywhere, as in memory that nobody has written to."""
    if tensor.numel() == 0:
        return True
    first = tensor.flatten()[0]
    return bool((tensor.isnan() if bool(first.isnan()) else tensor == first).all())


def _tensors_behind(arguments: Iterable[Any]) -> Iterator[torch.Tensor]:
    """A descriptor has its tensor as its base."""
    for argument in arguments:
        tensor = argument if isinstance(argument, torch.Tensor) else getattr(argument, "base", None)
        if isinstance(tensor, torch.Tensor):
            yield tensor


def _same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """A lone element counts as contiguous whatever its strides are."""
    flat = (t.detach().contiguous().as_strided((t.numel(),), (1,)) for t in (one, other))
    return one.shape == other.shape and torch.equal(*(t.view(torch.uint8) for t in flat))


def _as_floats(held: torch.Tensor, dtype: torch.dtype) -> torch.Tensor | None:
    """Integers may hold the bits of floats."""
    if held.is_floating_point():
        return held
    return held.contiguous().view(dtype) if held.element_size() == dtype.itemsize and held.dim() else None


def _memory(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage().data_ptr())
