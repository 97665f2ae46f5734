"""What a kernel does, step by step: a graph cut down to leaves, pointwise operators, reductions and reshapes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tilesmith.playbook.graph.symbols import Dim, SymbolicShape
from tilesmith.playbook.unmatched import Unmatched

LEAF, VIEW, CAST, PRODUCT = "leaf", "view", "cast", "product"
MOVE, INDEX, CONSTANT, GIVEN = "move", "index", "constant", "given"
"""Elements of the operand in other places; the place itself, or whether it (or an operand) lies within bounds; a
tensor whose elements are all alike; what a kernel has already under this name."""
SCANS = {"cumsum": "sum", "cumprod": "prod", "cummax": "amax", "cummin": "amin", "logcumsumexp": "log_add"}
"""Running reductions along a row, and what they make of a whole one."""
REDUCTIONS = ("sum", "max", "prod", "argmax", "argmin", "amax", "amin")
"""`max`, the one inside a softmax, may ignore NaN, because the sum brings it back; `amax` and `amin` may not."""

COMPUTED_IN = {
    "float16": "tl.float32",
    "bfloat16": "tl.float32",
    "float32": "tl.float32",
    "float64": "tl.float64",
    "int8": "tl.int8",
    "uint8": "tl.uint8",
    "int16": "tl.int16",
    "int32": "tl.int32",
    "int64": "tl.int64",
    "bool": "tl.int1",
}
WIDTHS = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2, "int16": 2}
"""Bytes per element; one, where it is not said."""
_RANK = ("tl.int1", "tl.uint8", "tl.int8", "tl.int16", "tl.int32", "tl.int64", "tl.float32", "tl.float64")


@dataclass(frozen=True, eq=False)
class DimMap:
    """Where to look along one dimension of the operand of a move: at `scale * i + offset`."""

    dim: int | None = None
    """The dimension of the result that `i` counts; None for a fixed place."""
    scale: int = 1
    offset: tuple[tuple[int, Dim], ...] = ()
    """A sum of numbers, each times a product of axes."""
    form: str = ""
    """What is done with that place: `{0} % {1}`, where {1} is the size of the dimension."""
    taken: KernelStep | None = None
    """A tensor that holds `i`, shaped to be broadcast to the result."""


@dataclass(frozen=True, eq=False)
class KernelStep:
    """One value of the computation; equal only to itself."""

    name: str
    op: str
    operands: tuple[Any, ...]
    """Steps, numbers, or None for a bound that is not there."""
    form: SymbolicShape
    dtype: str
    options: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def row_lengths(self) -> frozenset[int]:
        """Lengths of the rows that went into it through a reduction."""
        own = {self.options["length"]} if "length" in self.options else set()
        return frozenset(own).union(*(one.row_lengths for one in self.operands if isinstance(one, KernelStep)))

    @property
    def computed_in(self) -> str:
        return computed_in(self.dtype)


def computed_in(dtype: str) -> str:
    """The Triton type a value has inside a kernel: half types are widened, and narrowed where they are stored."""
    if dtype not in COMPUTED_IN:
        raise Unmatched(f"works on {dtype}")
    return COMPUTED_IN[dtype]


def widest(types: list[str]) -> str:
    return max(types, key=_RANK.index)
