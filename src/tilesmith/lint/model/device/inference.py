"""Read a jit function statement by statement and note the `DeviceValue` of every expression."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tilesmith.lint.model.device.operations import (
    OPERATIONS,
    CallArguments,
    attribute_value,
    literal_int,
    method_value,
    subscript_value,
)
from tilesmith.lint.model.device.values import SCALAR, STATIC, TUPLE, UNKNOWN, DeviceValue, ValueKind, combine, join
from tilesmith.lint.model.syntax.call_arguments import parameters
from tilesmith.lint.vocabulary import LANGUAGE

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


DEVICE_RANGES = frozenset({"range", "triton.language.range"})


@dataclass(frozen=True)
class ValueChange:
    """A name that leaves a loop or a branch with another value than it had before."""

    name: str
    before: DeviceValue
    after: DeviceValue


@dataclass(frozen=True)
class InferredValues:
    """What a reading of one function found."""

    values: Mapping[ast.AST, DeviceValue] = field(default_factory=dict)
    changes: Mapping[ast.stmt, tuple[ValueChange, ...]] = field(default_factory=dict)
    """By the loop or run-time branch that makes them, in its first turn."""


def infer(
    function: ast.FunctionDef,
    constexprs: frozenset[str],
    imports: Mapping[ast.AST, str],
    given: Mapping[str, DeviceValue],
) -> InferredValues:
    """The value of each expression, with parameters as given; nothing for a function too deep to follow.

    Annotations bind the host only: a jit function that another calls gets what it is given.
    """
    known = {name: given.get(name, STATIC if name in constexprs else UNKNOWN) for name in parameters(function)}
    reader = _StatementReader(imports, known)
    try:
        reader.read(function.body)
    except RecursionError:
        return InferredValues()
    return InferredValues(reader.values, reader.changes)


class _StatementReader(ValueEvaluator):
    """Goes from statement to statement and knows what each name stands for on the way."""

    def __init__(self, imports: Mapping[ast.AST, str], known: Environment) -> None:
        super().__init__(imports, known)
        self.changes: dict[ast.stmt, tuple[ValueChange, ...]] = {}
        self.rehearsing = False

    def read(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            match statement:
                case ast.Assign():
                    value = assigned(self.value(statement.value), statement.value)
                    for target in statement.targets:
                        self.bind(target, value, statement.value)
                case ast.AugAssign():
                    value = arithmetic(statement, self.value(statement.target), self.value(statement.value))
                    self.bind(statement.target, assigned(value, statement), None)
                case ast.AnnAssign():
                    self.annotated(statement)
                case ast.If():
                    self.branches(statement)
                case ast.For() | ast.While():
                    self.loop(statement)
                case ast.With():
                    self.read(statement.body)
                case _:
                    self.others(statement)

    def annotated(self, statement: ast.AnnAssign) -> None:
        value = UNKNOWN if statement.value is None else self.value(statement.value)
        named = self.imports.get(statement.annotation, "").endswith("constexpr")
        if named:
            value = value if value.kind is ValueKind.TENSOR else STATIC
        elif statement.value is not None:
            value = assigned(value, statement.value)
        self.bind(statement.target, value, statement.value)

    def others(self, statement: ast.stmt) -> None:
        for child in ast.iter_child_nodes(statement):
            if isinstance(child, ast.expr):
                self.value(child)

    def branches(self, choice: ast.If) -> None:
        at_run_time = self.value(choice.test).kind is ValueKind.TENSOR
        before = self.known
        ends = []
        for body in (choice.body, choice.orelse):
            self.known = dict(before)
            self.read(body)
            ends.append(self.known)
        if at_run_time:
            self.note(choice, before, ends)
        self.known = _joined(ends)

    def note(self, region: ast.stmt, before: Environment, ends: list[Environment]) -> None:
        if region not in self.changes:
            changed = [
                (name, end) for name in before for end in ends if end.get(name, before[name]) != before[name]
            ]
            self.changes[region] = tuple(ValueChange(name, before[name], end[name]) for name, end in changed)

    def loop(self, loop: ast.For | ast.While) -> None:
        """Turn by turn would never end: read once, keep what that reading left alone, read again."""
        if not self.rehearsing:
            self.rehearsing = True
            self.turn(loop)
            self.rehearsing = False
        self.turn(loop)
        self.read(loop.orelse)

    def turn(self, loop: ast.For | ast.While) -> None:
        before = dict(self.known)
        on_device = self.enter(loop)
        self.read(loop.body)
        if on_device:
            self.note(loop, before, [self.known])
        self.known = _joined([before, self.known])

    def enter(self, loop: ast.For | ast.While) -> bool:
        """Whether the loop runs on the device, and is not unrolled."""
        if isinstance(loop, ast.While):
            self.value(loop.test)
            return True
        self.value(loop.iter)
        function = loop.iter.func if isinstance(loop.iter, ast.Call) else None
        name = self.imports.get(function, function.id if isinstance(function, ast.Name) else "") if function else ""
        index = SCALAR if name in DEVICE_RANGES else STATIC if name.endswith("static_range") else UNKNOWN
        self.bind(loop.target, index, None)
        return name in DEVICE_RANGES


def _joined(ends: list[Environment]) -> Environment:
    """What holds after any of several ways; a name only some of them bind is unknown."""
    first, *others = ends
    joined = dict(first)
    for end in others:
        for name in joined.keys() | end.keys():
            joined[name] = join(joined[name], end[name]) if name in joined and name in end else UNKNOWN
    return joined
