"""Products of loaded values that are added up: by `tl.dot`, by a sum over a block, or turn by turn in a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tilesmith.lint.model.source import JitFunction, KernelSource, cached_per_source
from tilesmith.lint.model.syntax.flow import operands
from tilesmith.lint.structure.device_flow.value_flow import Dependence, load_calls
from tilesmith.lint.structure.reductions.reduction_sites import stored_values
from tilesmith.lint.vocabulary import DOTS, words

PASSING = words("to cast trans permute reshape view expand_dims broadcast_to multiple_of")
"""What leaves the values as they are."""
DEEPEST_LOOK = 6
FACTOR_NAMES = ("input", "other", "lhs", "rhs")


@dataclass(frozen=True, eq=False)
class Contraction:
    """One place where products are added up."""

    node: ast.AST
    kind: str
    """`dot`, `sum` (over a block) or `turns` (of a loop)."""
    factors: tuple[ast.expr, ...]


@cached_per_source
def contractions(function: JitFunction, source: KernelSource) -> tuple[Contraction, ...]:
    """Every dot, and every sum of products of two values loaded apart; what only makes addresses is left out."""
    reading = _LoadedValues(function, source)
    products = _ProductFactors(function, source)
    dots = [call.node for call in function.calls if call.operation in DOTS]
    found = [Contraction(dot, "dot", _dot_factors(dot)) for dot in dots]
    for node, kind, value in [*_sums(function, source), *_turns(function)]:
        parts = tuple(part for part in products.factors(value) if reading.data.behind(part))
        if any(reading.are_independent(one, other) for one in parts for other in parts):
            found.append(Contraction(node, kind, parts))
    kept = Dependence(function.flow, [product.node for product in found], load_calls(function, source))
    used = kept.behind(*stored_values(function), *_tests(function))
    return tuple(product for product in found if product.kind == "dot" or product.node in used)


def _tests(function: JitFunction) -> list[ast.AST]:
    """Conditions, and atomics: data goes on through them, too."""
    added = [argument for call in function.calls if "atomic" in call.operation for argument in call.node.args[1:]]
    return [*added, *(node.test for node in function.nodes if isinstance(node, (ast.If, ast.While)))]


class _LoadedValues:
    """What values were loaded for; in a function that others call, its parameters count as loaded."""

    def __init__(self, function: JitFunction, source: KernelSource) -> None:
        loads = load_calls(function, source)
        called = function.name in source.called_names
        given = {a.arg: a for a in function.node.args.args if called and a.arg not in function.constexprs}
        sums = [call.node for call in function.calls_of("sum")]
        tests = [node for node in function.nodes if isinstance(node, ast.Compare)]
        self.data = Dependence(function.flow, loads, [*loads, *tests], given)
        self.bare = Dependence(function.flow, loads, [*loads, *sums], given)

    def are_independent(self, one: ast.expr, other: ast.expr) -> bool:
        """Loaded apart, or one of them summed up before."""
        first, second = self.data.behind(one), self.data.behind(other)
        apart = bool(first - second and second - first)
        return apart or (bool(self.bare.behind(one)) and not self.bare.behind(other))


def _dot_factors(call: ast.Call) -> tuple[ast.expr, ...]:
    return (*call.args[:2], *(k.value for k in call.keywords if k.arg in FACTOR_NAMES))


def _sums(function: JitFunction, source: KernelSource) -> Iterator[tuple[ast.AST, str, ast.expr]]:
    """`tl.sum(x, 1)` and `x.sum(1)`."""
    for call in function.calls_of("sum"):
        given = [*call.node.args[:1], *(k.value for k in call.node.keywords if k.arg == "input")]
        if given:
            yield call.node, "sum", given[0]
    for node in function.nodes:
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr="sum")) if source.dotted(node.func) is None:
                yield node, "sum", owner


def _turns(function: JitFunction) -> Iterator[tuple[ast.AST, str, ast.expr]]:
    """`acc += a * b` and its other spellings, where a loop carries `acc` or a caller hands it over."""
    for loop in function.loops:
        for binding in loop.flow.bindings:
            if binding.name in loop.carried:
                for added in _added(binding.value, binding.name):
                    yield binding.value, "turns", added
    for node in function.nodes:
        if isinstance(node, ast.Return) and node.value is not None:
            for name in function.params:
                yield from ((node.value, "turns", added) for added in _added(node.value, name))


def _added(value: ast.AST, name: str) -> Iterator[ast.expr]:
    """What is added to the name."""
    operation = operands(value)
    if operation is not None and isinstance(operation.op, ast.Add):
        for side, other in ((operation.left, operation.right), (operation.right, operation.left)):
            if isinstance(other, ast.Name) and other.id == name:
                yield side
            elif isinstance(other, ast.BinOp):
                yield from (part for part in _added(other, name))
                if any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(other)):
                    yield side
    elif isinstance(value, ast.Call) and len(value.args) == 3:
        # `tl.fma(a, b, acc)` and `tl.where(mask, acc + a * b, acc)`
        called = value.func.attr if isinstance(value.func, ast.Attribute) else ""
        if called == "fma" and isinstance(value.args[2], ast.Name) and value.args[2].id == name:
            yield ast.copy_location(ast.BinOp(value.args[0], ast.Mult(), value.args[1]), value)
        elif called == "where":
            for branch in value.args[1:]:
                yield from _added(branch, name)


class _ProductFactors:
    """Takes products apart, through names, casts and reshapes."""

    def __init__(self, function: JitFunction, source: KernelSource) -> None:
        self.function, self.source = function, source

    def factors(self, value: ast.AST, depth: int = DEEPEST_LOOK) -> list[ast.expr]:
        """The factors of a product, named in between or not; one entry for anything else."""
        match value:
            case ast.BinOp(op=ast.Mult()):
                return [f for side in (value.left, value.right) for f in self.factors(side, depth)]
            case ast.UnaryOp():
                return self.factors(value.operand, depth)
            case ast.Call() if depth and (inner := self._passed_through(value)) is not None:
                return self._opened(value, inner, depth)
            case ast.Name(id=name) if depth:
                if (inner := self.function.flow.only_value(name)) is not None:
                    return self._opened(value, inner, depth)
        return [value] if isinstance(value, ast.expr) else []

    def _opened(self, value: ast.expr, inner: ast.AST, depth: int) -> list[ast.expr]:
        """The factors inside, when there are several; else the value as it stands."""
        found = self.factors(inner, depth - 1)
        return found if len(found) > 1 else [value]

    def _passed_through(self, call: ast.Call) -> ast.expr | None:
        """The value that a cast, a reshape or a `where` hands on."""
        if name := self.source.operation(call):
            if name == "where" and len(call.args) == 3:
                return call.args[1]
            return call.args[0] if name in PASSING and call.args else None
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        return owner if isinstance(call.func, ast.Attribute) and call.func.attr in PASSING else None
