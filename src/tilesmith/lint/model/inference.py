"""Read a jit function statement by statement and note the `Value` of every expression."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from tilesmith.lint.model.operations import OPERATIONS, Arguments, method_value, subscript_value
from tilesmith.lint.model.values import (
    PARAMETER,
    SCALAR,
    STATIC,
    TUPLE,
    UNKNOWN,
    Kind,
    Value,
    combine,
    join,
)

LANGUAGE = "triton.language."
DEVICE_RANGES = frozenset({"range", "triton.language.range"})
Environment = dict[str, Value]


def infer(
    function: ast.FunctionDef, constexprs: frozenset[str], imports: Mapping[ast.AST, str], launched: bool
) -> Mapping[ast.AST, Value]:
    """The value of each expression; nothing for a function nested too deeply to follow.

    `launched` says that the host starts it, so that plain parameters are scalars or pointers, never blocks.
    """
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    plain = PARAMETER if launched else UNKNOWN
    known = {a.arg: STATIC if a.arg in constexprs else plain for a in arguments}
    reader = _Reader(imports, known)
    try:
        reader.read(function.body)
    except RecursionError:
        return {}
    return reader.values


class _Reader:
    def __init__(self, imports: Mapping[ast.AST, str], known: Environment) -> None:
        self.imports = imports
        self.known = known
        self.values: dict[ast.AST, Value] = {}
        self.rehearsing = False

    # statements

    def read(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            match statement:
                case ast.Assign():
                    value = self.value(statement.value)
                    for target in statement.targets:
                        self.bind(target, value, statement.value)
                case ast.AugAssign():
                    value = combine(self.value(statement.target), self.value(statement.value))
                    self.bind(statement.target, value, None)
                case ast.AnnAssign():
                    self.annotated(statement)
                case ast.If():
                    self.value(statement.test)
                    self.branches([statement.body, statement.orelse])
                case ast.For() | ast.While():
                    self.loop(statement)
                case ast.With():
                    self.read(statement.body)
                case _:
                    self.others(statement)

    def annotated(self, statement: ast.AnnAssign) -> None:
        value = UNKNOWN if statement.value is None else self.value(statement.value)
        named = self.imports.get(statement.annotation, "").endswith("constexpr")
        self.bind(statement.target, STATIC if named else value, statement.value)

    def others(self, statement: ast.stmt) -> None:
        for child in ast.iter_child_nodes(statement):
            if isinstance(child, ast.expr):
                self.value(child)

    def branches(self, bodies: list[list[ast.stmt]]) -> None:
        before = self.known
        ends = []
        for body in bodies:
            self.known = dict(before)
            self.read(body)
            ends.append(self.known)
        self.known = _joined(ends)

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
        self.enter(loop)
        self.read(loop.body)
        self.known = _joined([before, self.known])

    def enter(self, loop: ast.For | ast.While) -> None:
        if isinstance(loop, ast.While):
            self.value(loop.test)
            return
        self.value(loop.iter)
        function = loop.iter.func if isinstance(loop.iter, ast.Call) else None
        name = self.imports.get(function, function.id if isinstance(function, ast.Name) else "") if function else ""
        index = SCALAR if name in DEVICE_RANGES else STATIC if name.endswith("static_range") else UNKNOWN
        self.bind(loop.target, index, None)

    def bind(self, target: ast.expr, value: Value, source: ast.expr | None) -> None:
        match target:
            case ast.Name():
                self.known[target.id] = value
                self.values[target] = value
            case ast.Tuple() | ast.List():
                parts = source.elts if isinstance(source, (ast.Tuple, ast.List)) else []
                for number, part in enumerate(target.elts):
                    known = len(parts) == len(target.elts)
                    self.bind(part, self.values.get(parts[number], UNKNOWN) if known else UNKNOWN, None)
            case _:
                self.value(target)

    # expressions

    def value(self, node: ast.expr) -> Value:
        found = self.compute(node)
        self.values[node] = found
        return found

    def compute(self, node: ast.expr) -> Value:
        match node:
            case ast.Name():
                return self.known.get(node.id, UNKNOWN)
            case ast.Constant():
                return STATIC
            case ast.BinOp():
                return combine(self.value(node.left), self.value(node.right))
            case ast.Call():
                return self.call(node)
            case ast.Subscript():
                return subscript_value(self.value(node.value), node.slice, self.parts(node.slice))
            case ast.Compare():
                return self.compare(node)
            case ast.UnaryOp():
                return self.value(node.operand)
            case ast.BoolOp():
                return combine(*(self.value(part) for part in node.values), dtype="int1")
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
            case ast.Attribute():
                return self.attribute(node)
        return UNKNOWN

    def parts(self, node: ast.expr) -> list[Value]:
        """Values of the elements of a tuple, or of the one element there is."""
        elements = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
        return [UNKNOWN if isinstance(e, (ast.Slice, ast.Starred)) else self.value(e) for e in elements]

    def compare(self, node: ast.Compare) -> Value:
        operands = [self.value(node.left), *(self.value(part) for part in node.comparators)]
        if any(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops):
            return STATIC
        return combine(*operands, dtype="int1")

    def attribute(self, node: ast.Attribute) -> Value:
        if node in self.imports:
            return STATIC
        base = self.value(node.value)
        if node.attr == "T" and base.kind is Kind.TENSOR:
            return Value(Kind.TENSOR, None if base.shape is None else base.shape[::-1], base.dtype)
        return STATIC if node.attr in ("dtype", "shape", "element_ty", "type", "value") else UNKNOWN

    def call(self, node: ast.Call) -> Value:
        given = [UNKNOWN if isinstance(a, ast.Starred) else self.value(a) for a in node.args]
        named = {keyword.arg: self.value(keyword.value) for keyword in node.keywords if keyword.arg}
        arguments = Arguments(node, given, named, self.imports)
        dotted = self.imports.get(node.func, "")
        if dotted.startswith(LANGUAGE):
            operation = OPERATIONS.get(dotted.rpartition(".")[2])
            return operation(arguments) if operation else UNKNOWN
        if isinstance(node.func, ast.Attribute) and node.func not in self.imports:
            return method_value(self.value(node.func.value), node.func.attr, arguments)
        if isinstance(node.func, ast.Name) and node.func.id in ("min", "max", "abs") and not named:
            return combine(*given) if given else UNKNOWN
        return UNKNOWN


def _joined(ends: list[Environment]) -> Environment:
    """What holds after any of several ways; a name only some of them bind is unknown."""
    first, *others = ends
    joined = dict(first)
    for end in others:
        for name in joined.keys() | end.keys():
            joined[name] = join(joined[name], end[name]) if name in joined and name in end else UNKNOWN
    return joined
