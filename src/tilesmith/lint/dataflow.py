"""What each local name of a function is made of. Order is ignored: a name stands for all its assignments."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Binding:
    """One assignment to a name; `whole` is false where the name gets only a part of the value."""

    name: str
    value: ast.expr
    line: int
    whole: bool


@dataclass(frozen=True)
class Flow:
    """The assignments inside some statements."""

    bindings: tuple[Binding, ...]
    by_name: Mapping[str, tuple[Binding, ...]]

    def origins(self, *expressions: ast.AST) -> frozenset[str]:
        """Every name these expressions depend on, through any number of assignments."""
        seen: set[str] = set()
        waiting: list[ast.AST] = list(expressions)
        while waiting:
            for name in names_in(waiting.pop()):
                if name not in seen:
                    seen.add(name)
                    waiting += [binding.value for binding in self.by_name.get(name, ())]
        return frozenset(seen)

    def values_behind(self, *expressions: ast.AST) -> list[ast.AST]:
        """The expressions themselves and the value of every name they depend on."""
        origins = self.origins(*expressions)
        return [*expressions, *(b.value for name in origins for b in self.by_name.get(name, ()))]


def read_flow(statements: Iterable[ast.AST]) -> Flow:
    bindings: list[Binding] = []
    for statement in statements:
        for node in ast.walk(statement):
            bindings += _bindings_of(node)
    by_name: defaultdict[str, list[Binding]] = defaultdict(list)
    for binding in bindings:
        by_name[binding.name].append(binding)
    return Flow(tuple(bindings), {name: tuple(found) for name, found in by_name.items()})


def names_in(expression: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}


def _bindings_of(node: ast.AST) -> list[Binding]:
    if isinstance(node, ast.Assign):
        return [b for target in node.targets for b in _bind_target(target, node.value, node.lineno)]
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        return _bind_target(node.target, node.value, node.lineno)
    if isinstance(node, ast.NamedExpr):
        return _bind_target(node.target, node.value, node.lineno)
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        value = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
        return [Binding(node.target.id, value, node.lineno, True)]
    if isinstance(node, (ast.For, ast.comprehension)):
        return [Binding(name, node.iter, node.iter.lineno, False) for name in names_in(node.target)]
    return []


def _bind_target(target: ast.expr, value: ast.expr, line: int) -> list[Binding]:
    if isinstance(target, ast.Name):
        return [Binding(target.id, value, line, True)]
    if isinstance(target, (ast.Tuple, ast.List)):
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
            pairs = zip(target.elts, value.elts, strict=True)
            return [b for part, piece in pairs for b in _bind_target(part, piece, line)]
        return [Binding(name, value, line, False) for name in names_in(target)]
    return []
