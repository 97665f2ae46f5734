"""What is known of each value in device code before anything is compiled: its kind, shape and type.

One pass over a jit function in the order of its statements. A loop's body is read twice, the second time with
what its first reading changed, so that what holds of a value holds in every turn.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import Enum

Dim = int | str | None
"""A size: a number, the text of a compile-time expression, or unknown."""
Shape = tuple[Dim, ...] | None
"""None when even the rank is unknown; `()` for a scalar."""


class ValueKind(Enum):
    UNKNOWN = "unknown"
    STATIC = "static"
    """Known to the compiler: literals, constexpr parameters and what is made of them alone."""
    TENSOR = "tensor"
    """A run-time value in registers, scalar or block."""
    TUPLE = "tuple"


@dataclass(frozen=True, slots=True)
class DeviceValue:
    """As much as is certain; what differs between branches or turns is unknown."""

    kind: ValueKind = ValueKind.UNKNOWN
    shape: Shape = None
    dtype: str = ""
    """`float32`, `int1`, ...; empty when unknown."""

    @property
    def is_block(self) -> bool:
        """Certainly a tensor of rank one or more."""
        return self.kind is ValueKind.TENSOR and bool(self.shape)

    @property
    def is_scalar(self) -> bool:
        """Certainly no block, if it is a run-time value at all."""
        return self.shape == ()

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)


UNKNOWN = DeviceValue()
STATIC = DeviceValue(ValueKind.STATIC, ())
SCALAR = DeviceValue(ValueKind.TENSOR, ())
PARAMETER = DeviceValue(ValueKind.UNKNOWN, ())
"""A kernel's run-time parameter: a scalar or a pointer, or a constant where the launch passes 1 or None."""
TENSOR = DeviceValue(ValueKind.TENSOR, None)
TUPLE = DeviceValue(ValueKind.TUPLE, None)


def join(one: DeviceValue, other: DeviceValue) -> DeviceValue:
    """What holds of both."""
    if one == other:
        return one
    kind = one.kind if one.kind is other.kind else ValueKind.UNKNOWN
    return DeviceValue(kind, _join_shapes(one.shape, other.shape), one.dtype if one.dtype == other.dtype else "")


def combine(*values: DeviceValue, dtype: str | None = None) -> DeviceValue:
    """The result of an elementwise operation: run-time if any operand is, of their common shape."""
    kinds = {value.kind for value in values}
    kind = ValueKind.STATIC if kinds == {ValueKind.STATIC} else ValueKind.UNKNOWN
    if ValueKind.TENSOR in kinds:
        kind = ValueKind.TENSOR
    shape: Shape = ()
    for value in values:
        shape = _broadcast(shape, value.shape)
    types = {value.dtype for value in values if value.kind is not ValueKind.STATIC}
    common = types.pop() if len(types) == 1 else ""
    return DeviceValue(kind, shape, common if dtype is None else dtype)


def _broadcast(one: Shape, other: Shape) -> Shape:
    if one is None or other is None:
        return None
    if len(one) < len(other):
        one, other = other, one
    padded = (1,) * (len(one) - len(other)) + other
    return tuple(_common(a, b) for a, b in zip(one, padded, strict=True))


def _common(one: Dim, other: Dim) -> Dim:
    if one == 1:
        return other
    if one is None:
        return None if other == 1 else other
    return one


def _join_shapes(one: Shape, other: Shape) -> Shape:
    if one is None or other is None or len(one) != len(other):
        return None
    return tuple(a if a == b else None for a, b in zip(one, other, strict=True))


def dimension(size: ast.expr | None) -> Dim:
    """A number, or the text that names the size."""
    match size:
        case ast.Constant(value=int() as number) if number is not True and number is not False:
            return number
        case ast.Name(id=name):
            return name
        case ast.BinOp() | ast.Attribute() | ast.Call():
            return ast.unparse(size)
    return None
