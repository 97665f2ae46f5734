"""What lanes outside a mask hold: followed from the load through arithmetic to a reduction."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from enum import Enum

from tilesmith.lint.model.device.operations import literal
from tilesmith.lint.model.device.values import Dim, ValueKind, dimension
from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.model.syntax.call_arguments import argument
from tilesmith.lint.model.syntax.flow import operands
from tilesmith.lint.structure.device_flow.reaching_definitions import reaching
from tilesmith.lint.vocabulary import words

FAR = 1e4
"""Beyond this a fill stands for infinity."""
ZERO_TO_ZERO = words("abs sqrt tanh sin erf sinh atan asin expm1 log1p floor ceil sqrt_rn")
ZERO_TO_OTHER = words("cos sigmoid exp exp2")
LOW_TO_ZERO = words("exp exp2 sigmoid")


class LaneFill(Enum):
    """The value of lanes past the end."""

    OPEN = "open"
    """Being worked out: what a loop carries."""
    VALID = "valid"
    """No such lanes: the same everywhere, or loaded without a mask."""
    ZERO = "zero"
    LOW = "low"
    HIGH = "high"
    OTHER = "other"
    """Some number that is neutral for nothing."""
    UNKNOWN = "unknown"


def fill_of_number(number: float, otherwise: LaneFill = LaneFill.VALID) -> LaneFill:
    if number == 0:
        return LaneFill.ZERO
    if abs(number) >= FAR:
        return LaneFill.LOW if number < 0 else LaneFill.HIGH
    return otherwise


def applied(operation: str, fill: LaneFill) -> LaneFill:
    """A function of one value."""
    if fill is LaneFill.LOW and operation in LOW_TO_ZERO:
        return LaneFill.ZERO
    if fill is LaneFill.ZERO and operation in ZERO_TO_ZERO:
        return LaneFill.ZERO
    numeric = fill in (LaneFill.ZERO, LaneFill.OTHER) and operation in ZERO_TO_OTHER | ZERO_TO_ZERO
    return LaneFill.OTHER if numeric else LaneFill.UNKNOWN


def negated(fill: LaneFill) -> LaneFill:
    return {LaneFill.LOW: LaneFill.HIGH, LaneFill.HIGH: LaneFill.LOW}.get(fill, fill)


def added(left: LaneFill, right: LaneFill) -> LaneFill:
    sides = {left, right}
    if LaneFill.UNKNOWN in sides:
        return LaneFill.UNKNOWN
    if LaneFill.OPEN in sides or len(sides) == 1:
        return (sides - {LaneFill.OPEN} or {LaneFill.OPEN}).pop()
    if sides & {LaneFill.LOW, LaneFill.HIGH}:
        return (
            LaneFill.UNKNOWN
            if {LaneFill.LOW, LaneFill.HIGH} <= sides
            else (sides & {LaneFill.LOW, LaneFill.HIGH}).pop()
        )
    return LaneFill.OTHER


def multiplied(left: LaneFill, right: LaneFill) -> LaneFill:
    sides = {left, right}
    if LaneFill.ZERO in sides:
        return LaneFill.ZERO
    if LaneFill.OPEN in sides or LaneFill.VALID in sides:
        return (sides - {LaneFill.OPEN, LaneFill.VALID} or {LaneFill.VALID}).pop()
    return LaneFill.OTHER if sides == {LaneFill.OTHER} else LaneFill.UNKNOWN


def joined(fills: Iterable[LaneFill]) -> LaneFill:
    """The one all agree on."""
    found = set(fills) - {LaneFill.OPEN}
    return found.pop() if len(found) == 1 else LaneFill.UNKNOWN if found else LaneFill.OPEN


UNCHANGED = words("to cast broadcast_to expand_dims trans multiple_of max_contiguous max_constancy")
MAKERS = words("zeros full zeros_like")


class LaneFills:
    """Follows values of one jit function along one axis, named by the width of its tile."""

    def __init__(self, source: KernelSource, function: JitFunction, axis: Dim) -> None:
        self.source, self.function, self.axis = source, function, axis
        self.open: set[ast.AST] = set()
        self.loads: list[ast.Call] = []
        """Masked loads met on the way, nearest first."""

    def of(self, node: ast.AST) -> LaneFill:
        value = self.function.value(node)
        number = literal(node)
        if number is not None:
            return fill_of_number(number)
        if value.kind is ValueKind.STATIC or (value.shape is not None and self.axis not in value.shape):
            return LaneFill.VALID
        if node in self.open:
            return LaneFill.OPEN
        self.open.add(node)
        found = self._read(node)
        self.open.discard(node)
        return found

    def _read(self, node: ast.AST) -> LaneFill:
        match node:
            case ast.Name():
                return self._name(node)
            case ast.BinOp(op=ast.BitAnd()):
                return (
                    LaneFill.ZERO
                    if LaneFill.ZERO in {self.of(node.left), self.of(node.right)}
                    else LaneFill.UNKNOWN
                )
            case ast.BinOp() | ast.AugAssign():
                return self._arithmetic(node)
            case ast.UnaryOp(op=ast.USub()):
                return negated(self.of(node.operand))
            case ast.Subscript():
                return self.of(node.value)
            case ast.Compare():
                return LaneFill.ZERO if self.is_bound(node) else LaneFill.UNKNOWN
            case ast.Call():
                return self._call(node)
        return LaneFill.UNKNOWN

    def _name(self, node: ast.Name) -> LaneFill:
        """What reaches this place; the start value of something a loop adds to says nothing."""
        bindings = reaching(self.function.flow, node)
        if not bindings or not all(binding.whole for binding in bindings):
            return LaneFill.UNKNOWN
        values = [binding.value for binding in bindings]
        made = [value for value in values if self.source.operation(value) not in MAKERS and literal(value) is None]
        return joined(self.of(value) for value in made or values)

    def _arithmetic(self, node: ast.AST) -> LaneFill:
        parts = operands(node)
        if parts is None:
            return LaneFill.UNKNOWN
        left = self._target(parts.left, node) if isinstance(node, ast.AugAssign) else self.of(parts.left)
        right = self.of(parts.right)
        match parts.op:
            case ast.Add() | ast.Sub():
                return added(left, right if isinstance(parts.op, ast.Add) else negated(right))
            case ast.Mult():
                return multiplied(left, right)
            case ast.Div():
                return left if right is LaneFill.VALID or left is LaneFill.ZERO else LaneFill.UNKNOWN
            case ast.Pow():
                return left if left is LaneFill.ZERO else LaneFill.UNKNOWN
        return LaneFill.UNKNOWN

    def _target(self, target: ast.expr, statement: ast.AST) -> LaneFill:
        """What `acc` held before `acc += x`: the statement itself aside."""
        if not isinstance(target, ast.Name):
            return LaneFill.UNKNOWN
        values = [b.value for b in reaching(self.function.flow, target) if b.value is not statement]
        return joined(self.of(value) for value in values) if values else LaneFill.OPEN

    def _call(self, node: ast.Call) -> LaneFill:
        operation, inner = self.source.operation(node), node.args[0] if node.args else None
        if not operation and isinstance(node.func, ast.Attribute):
            operation, inner = node.func.attr, node.func.value
        match operation:
            case "load":
                return self._load(node)
            case "where":
                return self._where(node)
            case "zeros" | "zeros_like":
                return LaneFill.ZERO
            case "maximum" | "minimum":
                return self._extreme(node, operation)
        if operation in UNCHANGED and inner is not None:
            return self.of(inner)
        return applied(operation, self.of(inner)) if inner is not None else LaneFill.UNKNOWN

    def _load(self, node: ast.Call) -> LaneFill:
        mask = argument(node, 1, "mask")
        if mask is None or self.axis not in self.lanes(mask):
            return LaneFill.VALID if mask is None or not self._is_opaque(mask) else LaneFill.UNKNOWN
        self.loads.append(node)
        other = argument(node, 2, "other")
        if other is None:
            return LaneFill.ZERO
        number = literal(other)
        return LaneFill.UNKNOWN if number is None else fill_of_number(number, LaneFill.OTHER)

    def _where(self, node: ast.Call) -> LaneFill:
        if len(node.args) != 3:
            return LaneFill.UNKNOWN
        condition, chosen, otherwise = node.args
        bounded = self.is_bound(condition)
        if bounded is not None:
            return self.of(otherwise if bounded else chosen)
        return joined([self.of(chosen), self.of(otherwise)])

    def _extreme(self, node: ast.Call, operation: str) -> LaneFill:
        sides = [self.of(argument) for argument in node.args[:2]]
        numbers = [literal(argument) for argument in node.args[:2]]
        if LaneFill.OPEN in sides:
            return sides[1 - sides.index(LaneFill.OPEN)]
        if LaneFill.ZERO in sides and 0 in numbers:
            return LaneFill.ZERO
        neutral = LaneFill.LOW if operation == "maximum" else LaneFill.HIGH
        if neutral in sides and len(sides) == 2:
            return sides[1 - sides.index(neutral)]
        return joined(sides)

    def is_bound(self, condition: ast.AST) -> bool | None:
        """Whether a condition holds inside (True) or outside (False) an end along the axis; None for any other."""
        if self.axis not in self.lanes(condition):
            return None
        match condition:
            case ast.UnaryOp(op=ast.Invert() | ast.Not()):
                inner = self.is_bound(condition.operand)
                return None if inner is None else not inner
            case ast.Subscript():
                return self.is_bound(condition.value)
            case ast.Compare(ops=[ast.Gt() | ast.GtE()], left=left):
                return self.axis not in self.lanes(left)
            case ast.Compare(ops=[ast.Eq() | ast.NotEq()]):
                return None
            case ast.Name():
                values = self.function.flow.values_of(condition.id)
                return self.is_bound(values[0]) if len(values) == 1 else True
        return True

    def lanes(self, node: ast.AST) -> set[Dim]:
        """Widths of the aranges an expression runs along, loaded values aside."""
        found: set[Dim] = set()
        waiting, seen = [node], {node}
        while waiting:
            part = waiting.pop()
            operation = self.source.operation(part)
            if operation == "arange" and isinstance(part, ast.Call):
                found.add(dimension(argument(part, 1, "end")))
                continue
            below = [] if operation == "load" else list(ast.iter_child_nodes(part))
            if isinstance(part, ast.Name):
                below = self.function.flow.values_of(part.id)
            waiting += [child for child in below if child not in seen]
            seen.update(below)
        return found

    def _is_opaque(self, mask: ast.AST) -> bool:
        return self.function.value(mask).shape is None
