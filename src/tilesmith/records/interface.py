"""The call that a kernel was verified for, as data: guards are written from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ArgumentSpec:
    """One value among the arguments of `forward`, or a nest of values, which comes before what is in it."""

    path: tuple[Any, ...]
    """The name of the parameter of `forward`, then keys and positions inside."""
    kind: str
    """tensor, value (None, a boolean, a number or a string), tuple, list, dict, or other: nobody tests that."""
    dtype: str | None = None
    shape: tuple[int | str, ...] = ()
    """Sizes of a tensor. A letter stands for any size, the same letter for the same size."""
    stride: tuple[int, ...] | None = None
    """Null for a contiguous tensor, empty where nobody tests it."""
    value: Any = None
    """Of a value, the value itself; of a nest, its length, or its keys if it is a dict."""

    @property
    def expression(self) -> str:
        """As `forward` finds it: `x`, `pair[0]`."""
        return f"{self.path[0]}" + "".join(f"[{step!r}]" for step in self.path[1:])

    def describe(self) -> str:
        """`x: float32 (n, 4)`, `k=3`"""
        if self.kind == "value":
            return f"{self.expression}={self.value!r}"
        sizes = f"{', '.join(map(str, self.shape))}{',' if len(self.shape) == 1 else ''}"
        return f"{self.expression}: {self.dtype} ({sizes})" if self.kind == "tensor" else self.expression


@dataclass(frozen=True)
class Interface:
    """One call of forward: the arguments in their order, defaults included, and the mode of the module."""

    arguments: tuple[ArgumentSpec, ...]
    left_out: tuple[str, ...] = ()
    """Parameters that the task leaves at their defaults."""
    keyword_only: tuple[str, ...] = ()
    training: bool | None = None
    """The mode it was called in; null where that makes no difference."""
    device: str | None = None
    """cuda or cpu: where the tensors lie. Null for a GPU, or the CPU where Triton's interpreter is on."""

    @property
    def inputs(self) -> tuple[ArgumentSpec, ...]:
        return tuple(one for one in self.arguments if one.kind == "tensor")
