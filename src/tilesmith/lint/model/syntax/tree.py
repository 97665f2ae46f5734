"""A syntax tree walked once and numbered, so that everything inside a node is one slice of a tuple."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

Node = TypeVar("Node", bound=ast.AST)
TOKENS = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
"""Nodes without content, shared all over the tree."""


class SyntaxTree:
    """The nodes of a module, parents before children."""

    def __init__(self, tree: ast.Module) -> None:
        nodes: list[ast.AST] = []
        above: list[int] = []
        waiting: list[tuple[ast.AST, int]] = [(tree, -1)]
        while waiting:
            node, parent = waiting.pop()
            waiting += [(child, len(nodes)) for child in _children(node)]
            nodes.append(node)
            above.append(parent)
        sizes = [1] * len(nodes)
        for number in range(len(nodes) - 1, 0, -1):
            sizes[above[number]] += sizes[number]
        self.tree = tree
        self.cache: dict[Any, Any] = {}
        """What was worked out about this tree; see `cached_per_source`."""
        self.nodes = tuple(nodes)
        self._ends = {
            node: (number, number + size) for number, (node, size) in enumerate(zip(nodes, sizes, strict=True))
        }
        self.parents: Mapping[ast.AST, ast.AST] = {
            node: nodes[parent] for node, parent in zip(nodes, above, strict=True) if parent >= 0
        }

    def inside(self, *roots: ast.AST) -> Sequence[ast.AST]:
        """The nodes and all below them."""
        if len(roots) == 1:
            start, end = self._ends[roots[0]]
            return self.nodes[start:end]
        return [node for root in roots for node in self.inside(root)]

    def contains(self, root: ast.AST, node: ast.AST) -> bool:
        start, end = self._ends[root]
        return start <= self._ends[node][0] < end

    def position(self, node: ast.AST) -> int:
        return self._ends[node][0]

    def names(self, *roots: ast.AST) -> set[str]:
        """Every plain name that occurs."""
        return {node.id for root in roots for node in self.inside(root) if type(node) is ast.Name}

    def of_type(self, kind: type[Node], *roots: ast.AST) -> list[Node]:
        return [node for node in self.inside(*(roots or (self.tree,))) if isinstance(node, kind)]

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Innermost first."""
        parent = self.parents.get(node)
        while parent is not None:
            yield parent
            parent = self.parents.get(parent)


def _children(node: ast.AST) -> list[ast.AST]:
    """In reverse, ready for a stack."""
    found: list[ast.AST] = []
    for field in node._fields:
        value = getattr(node, field, None)
        if value.__class__ is list:
            found += [item for item in value if isinstance(item, ast.AST) and not isinstance(item, TOKENS)]
        elif isinstance(value, ast.AST) and not isinstance(value, TOKENS):
            found.append(value)
    found.reverse()
    return found
