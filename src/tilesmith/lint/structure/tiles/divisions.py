"""Divisions that count tiles: which of them round up, so that the last tile may be ragged."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import NamedTuple

from tilesmith.lint.model.source import HostCode, KernelSource

CEILING_CALLS = frozenset({"triton.cdiv", "triton.language.cdiv", "triton.language.standard.cdiv"})


class Division(NamedTuple):
    size: ast.expr
    tile: ast.expr
    up: bool
    """Rounds up, so that a remainder gets a tile of its own."""


def divisions_in(source: KernelSource, nodes: Iterable[ast.AST]) -> list[Division]:
    """Every division that gives a whole number, however it is written; inner nodes of one are not read again."""
    found: list[Division] = []
    inside: set[ast.AST] = set()
    for node in nodes:
        if node not in inside and (division := read_division(source, node)) is not None:
            found.append(division)
            inside.update(source.syntax.inside(node))
    return found


def read_division(source: KernelSource, node: ast.AST) -> Division | None:
    # a function of the file that returns the quotient of its two parameters, rounded up
    match node:
        case ast.Call(args=[size, tile]) if source.dotted(node.func) in CEILING_CALLS:
            return Division(size, tile, True)
        case ast.Call(func=ast.Name(id=name), args=[size, tile]) if any(
            host.name == name and _returns_ceiling(source, host) for host in source.hosts
        ):
            return Division(size, tile, True)
        case ast.Call(args=[ast.BinOp(op=ast.Div()) as quotient]) if source.dotted(node.func) == "math.ceil":
            return Division(quotient.left, quotient.right, True)
        case ast.UnaryOp(
            op=ast.USub(), operand=ast.BinOp(op=ast.FloorDiv(), left=ast.UnaryOp(op=ast.USub())) as quotient
        ):
            return Division(_operand(quotient.left), quotient.right, True)
        case ast.BinOp(op=ast.Add(), left=ast.BinOp(op=ast.FloorDiv()) as quotient, right=ast.Constant(value=1)):
            return Division(quotient.left, quotient.right, True)
        case ast.BinOp(op=ast.FloorDiv()):
            return _floor_division(node)
    return None


def _operand(node: ast.expr) -> ast.expr:
    return node.operand if isinstance(node, ast.UnaryOp) else node


def _floor_division(node: ast.BinOp) -> Division:
    """`(n + b - 1) // b` rounds up, `n // b` does not."""
    summands = list(_summands(node.left))
    tile = ast.dump(node.right)
    rest = [part for part in summands if ast.dump(part) != tile and not isinstance(part, ast.Constant)]
    numbers = [part.value for part in summands if isinstance(part, ast.Constant) and isinstance(part.value, int)]
    literal = node.right.value if isinstance(node.right, ast.Constant) else None
    up = any(ast.dump(part) == tile for part in summands) or (
        isinstance(literal, int) and sum(numbers) == literal - 1
    )
    return Division(rest[0] if up and rest else node.left, node.right, up and bool(rest))


def _summands(node: ast.expr) -> Iterable[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        yield from _summands(node.left)
        yield from _summands(node.right)
    else:
        yield node


def _returns_ceiling(source: KernelSource, host: HostCode) -> bool:
    returns = [node for node in host.node.body if isinstance(node, ast.Return)]
    parameters = [argument.arg for argument in host.node.args.args]
    if len(returns) != 1 or returns[0].value is None or len(parameters) != 2:
        return False
    value = returns[0].value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == host.name:
        return False
    division = read_division(source, value)
    return division is not None and division.up and _name(division.tile) == parameters[1]


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def same_number(left: frozenset[int] | None, right: frozenset[int] | None) -> bool:
    return left is not None and right is not None and bool(left & right)


def divides(tile: frozenset[int] | None, size: frozenset[int] | None) -> bool:
    """Every possible tile goes into every possible size."""
    if not tile or not size or 0 in tile:
        return False
    return all(number % width == 0 for number in size for width in tile)
