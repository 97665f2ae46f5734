"""The `DeviceValue` of each expression in device code, given what the names in it stand for."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from tilesmith.lint.model.device.operations import (
    OPERATIONS,
    CallArguments,
    attribute_value,
    literal_int,
    method_value,
    subscript_value,
)
from tilesmith.lint.model.device.values import SCALAR, STATIC, TUPLE, UNKNOWN, DeviceValue, ValueKind, combine, join

LANGUAGE = "triton.language."
NUMBER_TYPES = {bool: "int1", int: "int32", float: "float32"}
Environment = dict[str, DeviceValue]


class ValueEvaluator:
    """Keeps what it found for every expression it was asked about, and for all parts of it."""

    def __init__(self, imports: Mapping[ast.AST, str], known: Environment) -> None:
        self.imports = imports
        self.known = known
        self.values: dict[ast.AST, DeviceValue] = {}

    def bind(self, target: ast.expr, value: DeviceValue, source: ast.expr | None) -> None:
        match target:
            case ast.Name():
                self.known[target.id] = value
                self.values[target] = value
            case ast.Tuple() | ast.List():
                parts = source.elts if isinstance(source, (ast.Tuple, ast.List)) else []
                for number, part in enumerate(target.elts):
                    known = len(parts) == len(target.elts)
                    inner = self.values.get(parts[number], UNKNOWN) if known else UNKNOWN
                    self.bind(part, assigned(inner, parts[number]) if known else inner, None)
            case _:
                self.value(target)

    def value(self, node: ast.expr) -> DeviceValue:
        found = self.compute(node)
        self.values[node] = found
        return found

    def compute(self, node: ast.expr) -> DeviceValue:
        match node:
            case ast.Name():
                return self.known.get(node.id, UNKNOWN)
            case ast.Constant():
                return STATIC
            case ast.BinOp():
                return arithmetic(node, self.value(node.left), self.value(node.right))
            case ast.Call():
                return self.call(node)
            case ast.Subscript():
                base = self.value(node.value)
                self.parts(node.slice)
                return subscript_value(base, node.slice)
            case ast.Compare():
                return self.compare(node)
            case ast.UnaryOp():
                return self.value(node.operand)
            case ast.BoolOp():
                return self.either([self.value(part) for part in node.values])
            case ast.Attribute():
                return STATIC if node in self.imports else attribute_value(self.value(node.value), node.attr)
        return self.compute_rarer(node)

    def compute_rarer(self, node: ast.expr) -> DeviceValue:
        match node:
            case ast.IfExp():
                self.value(node.test)
                return join(self.value(node.body), self.value(node.orelse))
            case ast.Tuple() | ast.List():
                self.parts(node)
                return TUPLE
            case ast.NamedExpr():
                value = self.value(node.value)
                self.bind(node.target, value, node.value)
                return value
            case ast.JoinedStr():
                for part in node.values:
                    if isinstance(part, ast.FormattedValue):
                        self.value(part.value)
        return UNKNOWN

    def parts(self, node: ast.expr) -> list[DeviceValue]:
        """Values of the elements of a tuple, or of the one element there is."""
        elements = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
        return [UNKNOWN if isinstance(e, (ast.Slice, ast.Starred)) else self.value(e) for e in elements]

    def compare(self, node: ast.Compare) -> DeviceValue:
        operands = [self.value(node.left), *(self.value(part) for part in node.comparators)]
        if any(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops):
            return STATIC
        return combine(*operands, dtype="int1")

    def either(self, operands: list[DeviceValue]) -> DeviceValue:
        """`and` and `or` stop at the first constant that decides, so one constant leaves the kind open."""
        whole = combine(*operands, dtype="int1")
        sure = all(operand.kind is whole.kind for operand in operands)
        return whole if sure else DeviceValue(ValueKind.UNKNOWN, whole.shape, "int1")

    def call(self, node: ast.Call) -> DeviceValue:
        given = [UNKNOWN if isinstance(a, ast.Starred) else self.value(a) for a in node.args]
        named = {keyword.arg: self.value(keyword.value) for keyword in node.keywords if keyword.arg}
        arguments = CallArguments(node, given, named, self.imports)
        dotted = self.imports.get(node.func, "")
        if dotted.startswith(LANGUAGE):
            operation = OPERATIONS.get(dotted.rpartition(".")[2])
            return operation(arguments) if operation else UNKNOWN
        if isinstance(node.func, ast.Attribute) and node.func not in self.imports:
            return method_value(self.value(node.func.value), node.func.attr, arguments)
        if isinstance(node.func, ast.Name) and node.func.id in ("min", "max", "abs", "float", "int") and not named:
            return combine(*given) if given else UNKNOWN
        return UNKNOWN


def arithmetic(node: ast.BinOp | ast.AugAssign, left: DeviceValue, right: DeviceValue) -> DeviceValue:
    """Whole numbers become fractions by division, and beside a fraction; short fractions widen by division."""
    result = combine(left, right)
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
    fraction = any(isinstance(side, ast.Constant) and isinstance(side.value, float) for side in sides)
    if result.dtype.startswith(("int", "uint")) and (fraction or isinstance(node.op, ast.Div)):
        return DeviceValue(result.kind, result.shape, "float32")
    widens = isinstance(node.op, (ast.Div, ast.Mod)) and result.dtype in ("float16", "bfloat16")
    constants = [side for side, value in zip(sides, (left, right), strict=True) if value.kind is ValueKind.STATIC]
    open_type = result.is_scalar and any(literal_int(constant) is None for constant in constants)
    return DeviceValue(result.kind, result.shape, "") if widens or open_type else result


def assigned(value: DeviceValue, source: ast.AST) -> DeviceValue:
    """A number bound to a plain name becomes a run-time value; types, None and functions stay what they are."""
    if value.kind is not ValueKind.STATIC:
        return value
    match source:
        case ast.Constant(value=int() | float() as number):
            return DeviceValue(ValueKind.TENSOR, (), NUMBER_TYPES[type(number)])
        case ast.Constant():
            return STATIC
        case ast.BinOp() | ast.UnaryOp() | ast.AugAssign() | ast.Compare():
            return SCALAR
        case ast.Call(func=ast.Name(id="int" | "float" | "len" | "min" | "max")):
            return SCALAR
    return DeviceValue(ValueKind.UNKNOWN, ())
