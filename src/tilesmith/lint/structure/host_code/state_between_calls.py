"""What a function keeps beyond its call: on an object, on a class, in a module's names, in a mutable default."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tilesmith.lint.model.source import HostCode, KernelSource, cached_per_source
from tilesmith.lint.model.syntax.call_arguments import defaults
from tilesmith.lint.vocabulary import words

LastingPlace = str
"""`.name` for an attribute, `name` for a module's variable or a mutable default."""
SAME_VALUES = words("clone detach contiguous view reshape to get view_as squeeze unsqueeze flatten")
FILLERS = words("update setdefault append insert appendleft __setitem__ put add")
DEEPEST_LOOK = 6
LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True)
class StateBetweenCalls:
    """The lasting places of one function: what it puts there, and what it gives out of them."""

    source: KernelSource
    host: HostCode

    def writes(self) -> list[tuple[LastingPlace, ast.expr]]:
        """What is put where, in assignments and `setattr`."""
        found: list[tuple[LastingPlace, ast.expr]] = []
        for node in self.source.syntax.inside(self.host.node):
            if type(node) is ast.Assign:
                found += [pair for target in node.targets for pair in self._pairs(target, node.value)]
            elif type(node) is ast.AnnAssign and node.value is not None:
                found += self._pairs(node.target, node.value)
            elif type(node) is ast.Call:
                found += self._stored_by_call(node)
        return found

    def reads(self, value: ast.AST, depth: int = DEEPEST_LOOK) -> Iterator[tuple[LastingPlace, ast.AST]]:
        """Kept things that a value is, unchanged, with the node that reads each."""
        place = self._place(value)
        if place is not None:
            yield place, value
        elif depth:
            for part in self._parts(value):
                yield from self.reads(part, depth - 1)

    def written_before(self, place: LastingPlace, read: ast.AST) -> bool:
        """Every way to this read passes a write to the same place in the same call."""
        contains = self.source.syntax.contains
        for block in _blocks(self.host.node):
            position = next((i for i, statement in enumerate(block) if contains(statement, read)), None)
            if position is not None and self._always_writes(place, block[:position]):
                return True
        return False

    def _stored_by_call(self, call: ast.Call) -> Iterator[tuple[LastingPlace, ast.expr]]:
        """`setattr(self, "y", v)`, `self.register_buffer("y", v)`, `self.table.update({k: v})`."""
        match call.func, call.args:
            case ast.Name(id="setattr"), [_, ast.Constant(value=str() as name), v]:
                yield f".{name}", v
            case ast.Attribute(attr="__setattr__"), [_, ast.Constant(value=str() as name), v]:
                yield f".{name}", v
            case ast.Attribute(attr="register_buffer"), [ast.Constant(value=str() as name), v, *_]:
                yield f".{name}", v
            case ast.Attribute(value=container, attr=method), [*given] if method in FILLERS:
                place = self._place(container)
                yield from ((place, v) for v in given if place is not None)

    def _parts(self, value: ast.AST) -> list[ast.AST]:
        match value:
            case ast.Name(id=name):
                return self.host.flow.values_of(name)
            case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in SAME_VALUES:
                return [inner]
            case ast.Subscript(value=inner):
                return [inner]
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return [*parts]
            case ast.IfExp():
                return [value.body, value.orelse]
        return []

    def _pairs(self, target: ast.expr, value: ast.expr) -> Iterator[tuple[LastingPlace, ast.expr]]:
        if isinstance(target, (ast.Tuple, ast.List)):
            parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value] * len(target.elts)
            for part, piece in zip(target.elts, parts, strict=False):
                yield from self._pairs(part, piece)
            return
        place = self._place(target)
        if place is not None:
            yield place, value

    def _place(self, expression: ast.AST) -> LastingPlace | None:
        match expression:
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                return f".{name}" if owner in self._objects and self.source.dotted(expression) is None else None
            case ast.Attribute(value=ast.Call(func=ast.Name(id="type")), attr=name):
                return f".{name}"
            case ast.Attribute(value=ast.Attribute(attr="__class__"), attr=name):
                return f".{name}"
            case ast.Subscript(value=inner):
                return self._place(inner)
            case ast.Name(id=name):
                return name if self._outlives(expression) else None
        return None

    @cached_property
    def _objects(self) -> frozenset[str]:
        """`self`, the classes of the file, and the function itself."""
        given = self.host.params[:1] if self.host.owner is not None else []
        return frozenset({*given, self.host.name, *(node.name for node in self.source.classes)})

    def _outlives(self, name: ast.Name) -> bool:
        """Declared global, a variable of the module that is not bound here, or a mutable default."""
        if name.id in self._lasting:
            return True
        if name.id in self._local or self.source.dotted(name) is not None:
            return False
        return self.source.names.scope_binding(name) is self.source.names.module

    @cached_property
    def _lasting(self) -> frozenset[str]:
        inside = [node for node in _globals(self.source) if self.source.syntax.contains(self.host.node, node)]
        return frozenset({name for node in inside for name in node.names} | _mutable_defaults(self.host))

    @cached_property
    def _local(self) -> frozenset[str]:
        return frozenset({*self.host.flow.by_name, *self.host.params})

    def _always_writes(self, place: LastingPlace, statements: Sequence[ast.stmt]) -> bool:
        return any(self._surely_writes(place, statement) for statement in statements)

    def _surely_writes(self, place: LastingPlace, statement: ast.stmt) -> bool:
        match statement:
            case ast.Assign(targets=targets, value=value):
                return any(found == place for target in targets for found, _ in self._pairs(target, value))
            case ast.If(body=body, orelse=orelse):
                return all(self._always_writes(place, branch) or _ends(branch) for branch in (body, orelse))
            case ast.With(body=body) | ast.Try(body=body):
                return self._always_writes(place, body)
        return False


@cached_per_source
def _globals(source: KernelSource) -> tuple[ast.Global, ...]:
    return tuple(source.syntax.of_type(ast.Global))


def _mutable_defaults(host: HostCode) -> set[str]:
    given = defaults(host.node).items()
    return {name for name, default in given if isinstance(default, (ast.Dict, ast.List, ast.Call))}


def _blocks(node: ast.AST) -> Iterator[Sequence[ast.stmt]]:
    """Every list of statements in a function."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        for field in ("body", "orelse", "finalbody", "handlers"):
            part = getattr(current, field, None)
            if isinstance(part, list) and part:
                if isinstance(part[0], ast.stmt):
                    yield part
                waiting += part


def _ends(statements: list[ast.stmt]) -> bool:
    return bool(statements) and isinstance(statements[-1], LEAVES)
