"""Sizes of tensors that tell what the task's code asked of them: `if x.shape[1] > 64`.

A graph has only the way that was gone. So the sizes that the code reads while it is traced remember how they were
computed, and every comparison of one is noted, with its answer. What PyTorch's own Python asks is left out.
"""

from __future__ import annotations

import functools
import math
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

_COMPARED = ("lt", "le", "gt", "ge", "eq", "ne")
_COMPUTED = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "and": "&",
    "or": "|",
    "xor": "^",
    "rshift": ">>",
    "lshift": "<<",
}
_TORCH, _OURS = str(Path(torch.__file__).parent), str(Path(__file__).parents[3])
_SHAPE = torch.Tensor.shape.__get__
_READ = (_SHAPE, torch.Tensor.size, torch.Tensor.numel)


class Question(NamedTuple):
    """One comparison of sizes, as the code put it."""

    kind: str
    texts: tuple[str, str]
    """How both are computed, with the places of sizes that were read: `({0} % 8)`."""
    answer: bool


class Reading(NamedTuple):
    """A size that the code read."""

    size: int
    expression: str | None
    """As `forward` finds it; None of a value of the pass itself."""


class WatchedSize(int):
    """An integer that notes what it is compared with."""

    text: str
    asked: list[Question]

    def __bool__(self) -> bool:
        return bool(_ask(self, 0, "ne"))

    def __neg__(self) -> int:
        return _watched(-int(self), f"(-{self.text})", self.asked)

    def __divmod__(self, other: int) -> tuple[int, int]:
        return self // other, self % other

    __hash__ = int.__hash__


def _watched(value: int, text: str, asked: list[Question]) -> WatchedSize:
    size = WatchedSize(value)
    size.text, size.asked = text, asked
    return size


def _text(value: float) -> str:
    return value.text if isinstance(value, WatchedSize) else str(value)


def _ask(size: WatchedSize, other: Any, kind: str) -> Any:
    if not isinstance(other, int) and not (isinstance(other, float) and math.isfinite(other)):
        return NotImplemented
    answer = getattr(operator, kind)(int(size), float(other) if isinstance(other, float) else int(other))
    if _is_of_the_task():
        size.asked.append(Question(kind, (_text(size), _text(other)), answer))
    return answer


def _is_of_the_task() -> bool:
    """Whether the code that is running is neither ours nor PyTorch's."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return not frame.f_code.co_filename.startswith(_TORCH)


def _asking(kind: str) -> Callable[[WatchedSize, Any], Any]:
    return lambda self, other: _ask(self, other, kind)


def _computing(name: str, reflected: bool) -> Callable[[WatchedSize, Any], Any]:
    plain, symbol = getattr(int, f"__{'r' * reflected}{name}__"), _COMPUTED[name]

    def method(self: WatchedSize, other: Any) -> Any:
        value = plain(self, other)
        if not isinstance(other, int) or not isinstance(value, int):
            return value
        texts = [_text(self), _text(other)][:: -1 if reflected else 1]
        return _watched(value, f"({texts[0]} {symbol} {texts[1]})", self.asked)

    return method


for _name in _COMPARED:
    setattr(WatchedSize, f"__{_name}__", _asking(_name))
for _name in _COMPUTED:
    setattr(WatchedSize, f"__{_name}__", _computing(_name, reflected=False))
    setattr(WatchedSize, f"__r{_name}__", _computing(_name, reflected=True))


class SizeWatch:
    """What the code asked of sizes during one pass."""

    def __init__(self) -> None:
        self.asked: list[Question] = []
        self.readings: list[Reading] = []
        self._expressions: dict[int, str] = {}

    def know(self, tensor: torch.Tensor, expression: str) -> None:
        """This tensor is an input, which `forward` finds so."""
        self._expressions[id(tensor)] = expression

    def read(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], found: Any) -> Any:
        """What a function of torch gave, watched where that is a size; asked by the tracer for every call."""
        if function not in _READ or not args[0].dim() or not _is_of_the_task():
            return found
        known = self._expressions.get(id(args[0]))

        def watched(dim: int, size: int) -> WatchedSize:
            self.readings.append(Reading(size, f"{known}.shape[{dim}]" if known else None))
            return _watched(size, f"{{{len(self.readings) - 1}}}", self.asked)

        if isinstance(found, int):
            asked = [*args[1:], *kwargs.values()]  # one dimension, or all of them
            dims = [one % args[0].dim() for one in asked] or range(args[0].dim())
            return functools.reduce(operator.mul, [watched(dim, args[0].size(dim)) for dim in dims])
        return torch.Size([watched(dim, size) for dim, size in enumerate(found)])
