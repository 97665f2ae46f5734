"""The grid of a launch, axis by axis, with names followed to what they stand for."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tilesmith.lint.model.source import HostCode, KernelSource, LaunchSite
from tilesmith.lint.model.syntax.flow import Flow
from tilesmith.lint.model.syntax.scopes import function_named, own_statements, scope_of

DEEPEST_LOOK = 8


@dataclass(frozen=True)
class LaunchGrid:
    """What a launch puts between the brackets."""

    axes: tuple[ast.expr, ...]
    """As written; `resolved` follows a name."""
    meta: str | None
    """What the grid's function calls the dictionary of meta-parameters."""
    host: HostCode | None

    def resolved(self, value: ast.expr) -> ast.expr:
        return resolve(value, self.host.flow if self.host else None)

    def meta_parameter(self, value: ast.expr) -> str | None:
        """`BLOCK` for `meta["BLOCK"]`."""
        match self.resolved(value):
            case ast.Subscript(value=ast.Name(id=owner), slice=ast.Constant(value=str() as name)):
                return name if owner == self.meta else None
        return None


def read_grid(launch: LaunchSite, source: KernelSource) -> LaunchGrid | None:
    """None when the grid comes from where we cannot see."""
    host = source.host_of(launch)
    if launch.grid is None:
        return None
    value: ast.AST | None = resolve(launch.grid, host.flow if host else None)
    meta = None
    if isinstance(value, ast.Name):
        function = function_named(value.id, scope_of(launch.node, source.syntax), source.syntax)
        if function is None:
            return None
        returns = [node for node in own_statements(function) if isinstance(node, ast.Return)]
        meta, value = _first(function.args), returns[0].value if len(returns) == 1 else None
    elif isinstance(value, ast.Lambda):
        meta, value = _first(value.args), value.body
    if not isinstance(value, (ast.Tuple, ast.List)) or any(isinstance(e, ast.Starred) for e in value.elts):
        return None
    return LaunchGrid(tuple(value.elts), meta, host)


def resolve(value: ast.expr, flow: Flow | None) -> ast.expr:
    """What a name stands for, when it is assigned just once, as a whole."""
    for _ in range(DEEPEST_LOOK):
        if flow is None or not isinstance(value, ast.Name):
            break
        if (meant := flow.only_value(value.id)) is None:
            break
        value = meant
    return value


def _first(arguments: ast.arguments) -> str | None:
    return arguments.args[0].arg if arguments.args else None
