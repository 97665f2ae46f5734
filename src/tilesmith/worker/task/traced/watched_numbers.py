"""Numbers among the arguments of `forward` that tell whether the pass looks at them.

What only hands a number on to PyTorch's operators does the same with any other number; so does what negates it, or
computes with it and 1 or another of these numbers, which gives one more. Whatever else compares it or computes with
it may not: a branch, or a number that a size is part of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

_LOOKS = (
    *("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__", "__bool__", "__hash__", "__int__", "__round__"),
    *("__floordiv__", "__rfloordiv__", "__mod__", "__rmod__", "__pow__", "__rpow__", "__abs__"),
    *("__trunc__", "__floor__", "__ceil__", "__float__", "__str__", "__repr__", "__format__", "is_integer"),
)
_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/"}


class WatchedNumber(float):
    """A float that notes when Python does something with it."""

    looked_at = False
    text: str
    """How it is computed, with the places of the arguments: `{0}`, `-{0}`, `(1 - {0})`."""
    given: tuple[WatchedNumber, ...]
    """The arguments that it is computed from; itself where it is one."""
    made: list[WatchedNumber]
    """What is computed from it first."""

    def look(self) -> None:
        for one in self.given:
            one.looked_at = True

    def make(self, value: float, text: str, *others: WatchedNumber) -> WatchedNumber:
        number = _watched(value, text)
        number.given = tuple(one for source in (self, *others) for one in source.given)
        self.made.append(number)
        return number

    def __neg__(self) -> WatchedNumber:
        return self.make(-float.__pos__(self), f"-{self.text}")


def _watched(value: float, text: str) -> WatchedNumber:
    number = WatchedNumber(value)
    number.text, number.given, number.made = text, (number,), []
    return number


def _watching(name: str) -> Callable[..., Any]:
    plain = getattr(float, name)

    def method(self: WatchedNumber, *args: Any) -> Any:
        if any(isinstance(one, torch.Tensor) for one in args):
            return NotImplemented  # the tensor's own method takes it as it is
        self.look()
        return plain(self, *args)

    return method


def _computing(name: str, reflected: bool) -> Callable[[WatchedNumber, Any], Any]:
    plain, symbol = getattr(float, f"__{'r' * reflected}{name}__"), _SYMBOLS[name]

    def method(self: WatchedNumber, other: Any) -> Any:
        if isinstance(other, torch.Tensor):
            return NotImplemented
        value, others = plain(self, other), [other] if isinstance(other, WatchedNumber) else []
        if value is NotImplemented or not (others or other == 1):
            self.look()
            return value
        texts = [self.text, others[0].text if others else "1"]
        return self.make(value, f"({f' {symbol} '.join(texts[::-1] if reflected else texts)})", *others)

    return method


for _name in _LOOKS:
    setattr(WatchedNumber, _name, _watching(_name))
for _name in _SYMBOLS:
    setattr(WatchedNumber, f"__{_name}__", _computing(_name, reflected=False))
    setattr(WatchedNumber, f"__r{_name}__", _computing(_name, reflected=True))


def watch_numbers(value: Any, found: list[WatchedNumber]) -> Any:
    """The same nest of arguments with every float watched; `found` gets them in order."""
    if type(value) is float:
        found.append(_watched(value, f"{{{len(found)}}}"))
        return found[-1]
    if isinstance(value, dict):
        return {key: watch_numbers(item, found) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(watch_numbers(item, found) for item in value))
    if isinstance(value, list | tuple):
        return type(value)(watch_numbers(item, found) for item in value)
    return value


def computed_from(numbers: Sequence[WatchedNumber], expressions: Sequence[str]) -> dict[str, float]:
    """What was computed from arguments that nobody looked at: `-limit`, and what it was."""
    found = {}
    for one in _descendants(numbers):
        if not any(source.looked_at for source in one.given):
            text = one.text[1:-1] if one.text.startswith("(") else one.text
            found[text.format(*expressions)] = float.__pos__(one)
    return found


def _descendants(numbers: Sequence[WatchedNumber]) -> Iterator[WatchedNumber]:
    for number in numbers:
        yield from number.made
        yield from _descendants(number.made)
