"""The interpreter's value: an array, its Triton type, and for pointers where they came from.

The origin is the kernel argument from which a pointer was computed. With it an access that
strays into a neighboring tensor is as visible as one that leaves all memory.
"""

from __future__ import annotations

from typing import Any

from tilesmith.worker.engines.interpreter import state


class Handle:
    """Stands in for Triton's TensorHandle: same fields and methods, no checks per value, an origin."""

    __slots__ = ("attr", "data", "dtype", "origin", "place")

    def __init__(self, data: Any, dtype: Any, attr: dict[str, Any] | None = None, origin: Any = None) -> None:
        self.data = data
        self.dtype = dtype
        self.attr = attr
        self.origin = origin
        self.place: Any = None
        """Where it is among the values of a program that is recorded."""

    def __bool__(self) -> bool:
        return bool(state.seen(lambda handle: bool(handle.data.all()), self))

    def get_element_ty(self) -> Any:
        """The pointed-to type of pointers, the element type of blocks."""
        dtype = self.dtype
        while hasattr(dtype, "element_ty"):
            dtype = dtype.element_ty
        return dtype

    def clone(self) -> Handle:
        """A handle with its own data."""
        return Handle(self.data.copy(), self.dtype, origin=self.origin)

    def set_attr(self, key: str, value: Any) -> None:
        """Compiler hints such as divisibility; kept, never read."""
        self.attr = {**(self.attr or {}), key: value}
