"""What each local name of a function is made of. Order is ignored: a name stands for all its assignments."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from tilesmith.lint.model.syntax.tree import SyntaxTree

MOST_BINDINGS = 3_000
"""Followed in one function; more than that nobody wrote by hand."""
BINDERS = frozenset(
    {ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.AugAssign, ast.For, ast.comprehension, ast.withitem}
)


@dataclass(frozen=True)
class Binding:
    """One assignment to a name; `whole` is false where the name gets only a part of the value.

    For `x += y` the value is the whole statement, which mentions both names.
    """

    name: str
    value: ast.AST
    line: int
    whole: bool


@dataclass(frozen=True)
class Flow:
    """The assignments inside some statements."""

    syntax: SyntaxTree
    bindings: tuple[Binding, ...]

    @cached_property
    def by_name(self) -> Mapping[str, tuple[Binding, ...]]:
        found: defaultdict[str, list[Binding]] = defaultdict(list)
        for binding in self.bindings:
            found[binding.name].append(binding)
        return {name: tuple(bindings) for name, bindings in found.items()}

    @cached_property
    def _made_of(self) -> Mapping[str, frozenset[str]]:
        """The names each name is directly made of."""
        values = {name: [binding.value for binding in bindings] for name, bindings in self.by_name.items()}
        return {name: frozenset(self.names(*parts)) for name, parts in values.items()}

    @cached_property
    def _known_origins(self) -> dict[str, frozenset[str]]:
        return {}

    def nodes(self, expression: ast.AST) -> Sequence[ast.AST]:
        return self.syntax.inside(expression)

    def names(self, *expressions: ast.AST) -> set[str]:
        """Every plain name that occurs."""
        return self.syntax.names(*expressions)

    def origins(self, *expressions: ast.AST) -> frozenset[str]:
        """Every name these expressions depend on, through any number of assignments."""
        names = self.names(*expressions)
        return frozenset(names).union(*(self.origins_of(name) for name in names))

    def origins_of(self, name: str) -> frozenset[str]:
        """Every name this name is made of; itself only if it feeds itself."""
        if name not in self._known_origins:
            self._known_origins[name] = names_behind(name, self._made_of)
        return self._known_origins[name]

    def values_of(self, name: str) -> list[ast.AST]:
        return [binding.value for binding in self.by_name.get(name, ())]

    def only_value(self, name: str) -> ast.expr | None:
        """What the name stands for, where it is assigned just once, as a whole."""
        match self.by_name.get(name, ()):
            case (Binding(value=ast.expr() as value, whole=True),):
                return value
        return None

    def values_behind(self, *expressions: ast.AST) -> list[ast.AST]:
        """The expressions themselves and the value of every name they depend on."""
        return [*expressions, *(value for name in self.origins(*expressions) for value in self.values_of(name))]

    def parts_behind(self, *expressions: ast.AST) -> list[ast.AST]:
        """Every node of the expressions and of all that lies behind them."""
        return [part for value in self.values_behind(*expressions) for part in self.nodes(value)]


def names_behind(name: str, made_of: Mapping[str, Set[str]]) -> frozenset[str]:
    """Through any number of steps; the name itself only if it feeds itself."""
    seen: set[str] = set()
    waiting = list(made_of.get(name, ()))
    while waiting:
        current = waiting.pop()
        if current not in seen:
            seen.add(current)
            waiting += made_of.get(current, ())
    return frozenset(seen)


def read_flow(syntax: SyntaxTree, statements: Iterable[ast.AST]) -> Flow:
    """Assignments in the statements and below; none at all when there are absurdly many."""
    binders = [node for root in statements for node in syntax.inside(root) if type(node) in BINDERS]
    bindings = [binding for node in binders for binding in _bindings_of(node)]
    return Flow(syntax, tuple(bindings) if len(bindings) <= MOST_BINDINGS else ())


def _bindings_of(node: ast.AST) -> list[Binding]:
    match node:
        case ast.Assign():
            return [b for target in node.targets for b in bind_target(target, node.value, node.lineno)]
        case ast.AnnAssign(value=ast.expr() as value):
            return bind_target(node.target, value, node.lineno)
        case ast.NamedExpr():
            return bind_target(node.target, node.value, node.lineno)
        case ast.AugAssign(target=ast.Name(id=name)):
            return [Binding(name, node, node.lineno, True)]
        case ast.For() | ast.comprehension():
            return [Binding(name, node.iter, node.iter.lineno, False) for name in target_names(node.target)]
        case ast.withitem(optional_vars=ast.Name(id=name)):
            return [Binding(name, node.context_expr, node.context_expr.lineno, False)]
    return []


@dataclass(frozen=True)
class BinaryOperation:
    """`left op right`, whether written as an expression or as `left op= right`."""

    left: ast.expr
    op: ast.operator
    right: ast.expr


def operands(node: ast.AST) -> BinaryOperation | None:
    if isinstance(node, ast.BinOp):
        return BinaryOperation(node.left, node.op, node.right)
    if isinstance(node, ast.AugAssign):
        return BinaryOperation(node.target, node.op, node.value)
    return None


def bind_target(target: ast.expr, value: ast.expr, line: int) -> list[Binding]:
    """`a, b = c, d` binds pairwise; other unpacking gives each name a part."""
    match target:
        case ast.Name():
            return [Binding(target.id, value, line, True)]
        case ast.Tuple() | ast.List():
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                pairs = zip(target.elts, value.elts, strict=True)
                return [b for part, piece in pairs for b in bind_target(part, piece, line)]
            return [Binding(name, value, line, False) for name in target_names(target)]
    return []


def target_names(target: ast.expr) -> list[str]:
    """Names a target binds; attributes and elements are not names."""
    match target:
        case ast.Name():
            return [target.id]
        case ast.Tuple() | ast.List():
            return [name for part in target.elts for name in target_names(part)]
        case ast.Starred():
            return target_names(target.value)
    return []
