"""The places a loop's body reads and writes: names, slots of buffers that its index picks, members."""

from __future__ import annotations

import ast
from typing import NamedTuple

from tilesmith.lint.model.source import HostCode
from tilesmith.lint.model.syntax.tree import SyntaxTree
from tilesmith.lint.structure.host_code.value_origins import SIZE_ATTRIBUTES, creates_tensor

NO_CONTENT = SIZE_ATTRIBUTES | {"dtype", "device", "stride", "dim", "ndim"}


class StorageSlot(NamedTuple):
    name: str
    slot: str
    """Which part, where the loop's index picks one."""


class StorageSlots:
    def __init__(self, indices: frozenset[str], host: HostCode, syntax: SyntaxTree) -> None:
        self.indices, self.syntax = indices, syntax
        first = [argument.arg for argument in host.node.args.args[:1]]
        self.module = set(first) if host.owner is not None else set()
        """The module itself: its attributes are places of their own."""

    def of(self, node: ast.AST) -> list[StorageSlot]:
        """What an expression that can be written to, or handed to a kernel, stands for."""
        match node:
            case ast.Name(id=name):
                return [StorageSlot(name, "")]
            case ast.Subscript(value=ast.Name(id=name)) if self.syntax.names(node.slice) & self.indices:
                return [StorageSlot(name, ast.unparse(node.slice))]
            case ast.Subscript() | ast.Starred():
                return self.of(node.value)
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                return [StorageSlot(f"{owner}.{name}" if owner in self.module else owner, "")]
            case ast.Tuple() | ast.List():
                return [place for part in node.elts for place in self.of(part)]
            case ast.Call(func=ast.Attribute(value=base)):
                return self.of(base)
        return []

    def read(self, value: ast.AST) -> set[StorageSlot]:
        """Places whose content an expression uses; asking a tensor for its shape uses nothing of it."""
        found: set[StorageSlot] = set()
        waiting: list[ast.AST] = [value]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Attribute) and node.attr in NO_CONTENT:
                continue
            if isinstance(node, ast.Call) and creates_tensor(node):
                continue
            places = self.of(node) if isinstance(node, (ast.Name, ast.Subscript, ast.Attribute)) else []
            found.update(places)
            if not places:
                waiting += ast.iter_child_nodes(node)
        return found


def is_shifted(one: str, other: str) -> bool:
    """Slots that differ by arithmetic on the index, as `t` and `t - 1` do; the whole has all its slots."""
    return one != other and (not one or any(sign in slot for slot in (one, other) for sign in (" + ", " - ")))
