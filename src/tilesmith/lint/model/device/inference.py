"""Read a jit function statement by statement and note the `DeviceValue` of every expression."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tilesmith.lint.model.device.evaluation import LANGUAGE, Environment, ValueEvaluator, arithmetic, assigned
from tilesmith.lint.model.device.values import SCALAR, STATIC, UNKNOWN, DeviceValue, ValueKind, join
from tilesmith.lint.model.syntax.call_arguments import parameters

__all__ = ["DEVICE_RANGES", "LANGUAGE", "InferredValues", "ValueChange", "infer"]
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
