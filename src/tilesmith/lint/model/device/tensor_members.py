"""What methods and brackets make of a tensor."""

from __future__ import annotations

import ast

from tilesmith.lint.model.device.operations import OPERATIONS
from tilesmith.lint.model.device.values import STATIC, TENSOR, UNKNOWN, DeviceValue, ValueKind
from tilesmith.lint.model.syntax.call_arguments import CallArguments

METHODS = frozenset({"to", "cast", "sum", "max", "min", "argmax", "argmin", "reshape", "view", "trans", "abs"})
METHODS_KEEPING_SHAPE = frozenset({"exp", "log", "sqrt", "sigmoid", "cumsum", "cumprod", "sin", "cos"})


def method_value(base: DeviceValue, method: str, arguments: CallArguments) -> DeviceValue:
    """`x.to(tl.float32)`, `x.sum(0)`: as the function with the tensor first."""
    if method in ("to", "cast"):
        return DeviceValue(base.kind, base.shape, arguments.dtype(0))
    if base.kind is not ValueKind.TENSOR:
        return UNKNOWN
    if method in METHODS_KEEPING_SHAPE:
        return base
    operation = OPERATIONS.get(method) if method in METHODS else None
    if operation is None:
        return UNKNOWN
    shifted = arguments.without_first()
    return operation(CallArguments(shifted.node, [base, *arguments.given], shifted.named, shifted.imports))


def attribute_value(base: DeviceValue, name: str) -> DeviceValue:
    """`x.T` is a tensor; what describes one is known to the compiler."""
    if name == "T" and base.kind is ValueKind.TENSOR:
        return DeviceValue(ValueKind.TENSOR, None if base.shape is None else base.shape[::-1], base.dtype)
    return STATIC if name in ("dtype", "shape", "element_ty", "type", "value") else UNKNOWN


def subscript_value(base: DeviceValue, index: ast.expr) -> DeviceValue:
    """`x[:, None]` inserts an axis; any other index picks something we know nothing of."""
    if base.kind is ValueKind.TUPLE or base.shape is None:
        return TENSOR if base.kind is ValueKind.TENSOR else UNKNOWN
    shape: list[int | str | None] = []
    left = list(base.shape)
    for element in index.elts if isinstance(index, ast.Tuple) else [index]:
        if isinstance(element, ast.Constant) and element.value is None:
            shape.append(1)
        elif _is_whole_slice(element) and left:
            shape.append(left.pop(0))
        else:
            return DeviceValue(base.kind, None, base.dtype)
    return DeviceValue(base.kind, (*shape, *left), base.dtype)


def _is_whole_slice(node: ast.expr) -> bool:
    return isinstance(node, ast.Slice) and node.lower is None and node.upper is None and node.step is None
