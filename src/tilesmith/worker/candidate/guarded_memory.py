"""Guarded memory: poison inside fresh tensors, canaries around them.

Fresh memory holds NaN (or an unlikely integer), so what a kernel forgets to write shows. On a GPU the inputs and
every tensor a candidate makes lie between two pads (parameters and buffers do not); a changed pad is a write out
of bounds, and a result that changes with the pads' contents is a read out of bounds.
"""

from __future__ import annotations

import contextlib
import functools
import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from tilesmith.worker.compat.torch_names import TorchFunctionMode
from tilesmith.worker.watch.cheating_detected import CheatingDetected

_FRESH = {"empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted"}
_FILLED = {
    "zeros",
    "ones",
    "full",
    "zeros_like",
    "ones_like",
    "full_like",
    "new_zeros",
    "new_ones",
    "new_full",
}
_TO_PYTHON = {"numpy", "__array__", "__dlpack__", "tolist"}
_FEW_ELEMENTS = 256
"""Sizes and offsets may be looked at by the host; data may not."""
_LEAST_PAD_BYTES = 4096
_MOST_PAD_BYTES = 4 * 2**20
_KEPT_BYTES = 8 * 2**30
_INTEGER_POISON = 0x5A
WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.int64}
"""Integers as wide as elements of so many bytes; the widest are taken as two."""
_LARGE = 30_000.0
"""Finite in every float type but the eight-bit ones: a maximum drops NaN, but not this."""


@dataclass(frozen=True)
class _PaddedTensor:
    label: str
    buffer: torch.Tensor
    pad_bytes: int
    words: torch.dtype
    """Integers as wide as the tensor's elements."""
    fill: int


class MemoryObserver(Protocol):
    """Who watches a call and must not take the guard's own work for the candidate's."""

    def paused(self) -> AbstractContextManager[None]: ...

    def note_fresh(self, tensor: torch.Tensor) -> None:
        """What `tensor` holds is nobody's answer until somebody writes there."""


class GuardedMemory(TorchFunctionMode):
    """While active, every tensor made from uninitialized memory is poisoned, and padded if `pads` says so."""

    def __init__(self, pads: str | None, fill: float = math.nan) -> None:
        super().__init__()
        self._pads, self._fill = pads, fill
        self._guarded: list[_PaddedTensor] = []
        self._kept_bytes = 0
        self.observer: MemoryObserver | None = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in _TO_PYTHON and args and isinstance(args[0], torch.Tensor) and args[0].numel() > _FEW_ELEMENTS:
            raise CheatingDetected(
                f"forward takes {args[0].numel()} values to Python ({name}): the work must be Triton's"
            )
        result = func(*args, **(kwargs or {}))
        if name in _FRESH | _FILLED and is_capturing():
            return result  # or a CUDA graph would poison its memory at every replay
        if not isinstance(result, torch.Tensor) or name not in _FRESH | _FILLED:
            return result
        with self.observer.paused() if self.observer else nullcontext():
            if name in _FRESH:
                poison(result, self._fill)
            if self._pads:
                result = self.padded(result, f"a tensor {tuple(result.shape)} from torch.{name}")
        if self.observer and name in _FRESH:
            self.observer.note_fresh(result)
        return result

    def padded(self, tensor: torch.Tensor, label: str) -> torch.Tensor:
        """The same values and strides, between two pads."""
        if not self._pads or not tensor.is_cuda or tensor.numel() == 0 or self._kept_bytes > _KEPT_BYTES:
            return tensor
        size = tensor.element_size()
        extent = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
        pad = min(max(extent * size, _LEAST_PAD_BYTES), _MOST_PAD_BYTES) // 512 * 512
        buffer = torch.empty(2 * pad + extent * size, dtype=torch.uint8, device=tensor.device)
        words, fill = WORDS[size], _pad_word(tensor.dtype, self._pads)
        for part in (buffer[:pad], buffer[-pad:]):
            part.view(words).fill_(fill)
        inside = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        inside.set_(buffer.untyped_storage(), pad // size, tensor.shape, tensor.stride())
        inside.copy_(tensor)
        self._guarded.append(_PaddedTensor(label, buffer, pad, words, fill))
        self._kept_bytes += buffer.numel()
        return inside

    def damage(self) -> str | None:
        """Which tensor's surroundings were written, and where. The GPU is waited for once."""
        places: list[str] = []
        counts: list[torch.Tensor] = []
        for guarded in self._guarded:
            pad = guarded.pad_bytes
            for part, place in ((guarded.buffer[-pad:], "past the end of"), (guarded.buffer[:pad], "before")):
                places.append(f"{place} {guarded.label}")
                counts.append((part.view(guarded.words) != guarded.fill).sum() * guarded.words.itemsize)
        found = torch.stack(counts).tolist() if counts else []
        damaged = ((count, place) for count, place in zip(found, places, strict=True) if count)
        return next((f"wrote {count} bytes {place}" for count, place in damaged), None)


def scrub_free_memory() -> None:
    """Fill all that torch's allocator holds in reserve, so that no fresh memory holds an old answer."""
    segments = torch.cuda.memory_snapshot()
    sizes = [block["size"] for one in segments for block in one["blocks"] if block["state"] == "inactive"]
    held: list[torch.Tensor] = []
    with contextlib.suppress(torch.OutOfMemoryError):
        for size in sorted(sizes, reverse=True):
            held.append(torch.full((size,), 0xFF, dtype=torch.uint8, device="cuda"))


def is_capturing() -> bool:
    """Whether a CUDA graph is being recorded: what is done now is done again at every replay."""
    try:
        return bool(torch.cuda.is_current_stream_capturing())
    except RuntimeError:
        return False  # a torch without CUDA, outside of the pretence


def poison(tensor: torch.Tensor, fill: float = math.nan) -> None:
    """Values that no kernel computes by accident, unless others are asked for."""
    if tensor.dtype == torch.bool or tensor.numel() == 0:
        return
    if tensor.is_floating_point() or tensor.is_complex():
        tensor.fill_(fill)
    else:
        tensor.fill_(_INTEGER_POISON if math.isnan(fill) else int(fill))


@functools.cache
def _pad_word(dtype: torch.dtype, pads: str) -> int:
    """What an element of a pad holds, as an integer."""
    if pads == "zero":
        return 0
    words = WORDS[dtype.itemsize]
    if not (dtype.is_floating_point or dtype.is_complex):
        return int(torch.full((8,), _INTEGER_POISON, dtype=torch.uint8).view(words)[0])
    return int(torch.full((1,), math.nan if pads == "nan" else _LARGE, dtype=dtype).view(words)[0])
