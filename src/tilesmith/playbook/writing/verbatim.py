"""Statements of a task's source, word for word where that is safe, with some names replaced.

Safe means: read back, the text is the same statement. Where it is not (two spaces of indentation, several
statements on a line, a name inside an f-string) the statement is written anew from the syntax tree.
"""

from __future__ import annotations

import ast
import copy
import re
import warnings
from collections.abc import Mapping
from typing import Any

from tilesmith.syntax import parse

_INDENT = 4
_LINE_END = re.compile(r"\r\n|\r|\n")
"""What ends a line for Python; `splitlines` knows more ends than that."""


class VerbatimSource:
    def __init__(self, text: str, renamed: Mapping[str, str]) -> None:
        """`renamed`: new names by old ones, which may be dotted (`nn.GRU`)."""
        self._lines = _LINE_END.split(text)
        self._renamed = renamed

    def at_module_level(self, node: ast.stmt) -> str:
        wanted = self._under_new_name(node)
        if isinstance(wanted, ast.FunctionDef | ast.ClassDef):
            wanted.name = self._renamed.get(wanted.name, wanted.name)
        text = self._renamed_lines(node)
        is_same = node.col_offset == 0 and _dumps(text) == [ast.dump(wanted)]
        return text if is_same else ast.unparse(wanted)

    def in_class(self, node: ast.stmt) -> str:
        """Indented as the body of a class."""
        wanted = self._under_new_name(node)
        text = self._renamed_lines(node)
        is_same = node.col_offset == _INDENT and _dumps(f"class _:\n{text}", in_class=True) == [ast.dump(wanted)]
        return text if is_same else _unparsed_in_class(wanted)

    def count(self, node: ast.AST, old: str) -> int:
        """How often `node` mentions a name."""
        return sum(1 for one in ast.walk(node) if _dotted(one) == old)

    def _under_new_name(self, node: ast.stmt) -> ast.stmt:
        wanted: ast.stmt = _NameReplacer(self._renamed).visit(copy.deepcopy(node))
        return wanted

    def _renamed_lines(self, node: ast.stmt) -> str:
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        lines = [line.encode() for line in self._lines[first - 1 : node.end_lineno]]
        spots = [one for one in ast.walk(node) if isinstance(one, ast.expr) and _dotted(one) in self._renamed]
        for spot in sorted(spots, key=lambda spot: (spot.lineno, spot.col_offset), reverse=True):
            line, new = lines[spot.lineno - first], self._renamed[str(_dotted(spot))].encode()
            lines[spot.lineno - first] = line[: spot.col_offset] + new + line[spot.end_col_offset :]
        return b"\n".join(lines).decode(errors="replace")  # columns count bytes in a syntax tree


class _NameReplacer(ast.NodeTransformer):
    def __init__(self, renamed: Mapping[str, str]) -> None:
        self._renamed = renamed

    def visit(self, node: ast.AST) -> Any:
        new = self._renamed.get(str(_dotted(node)))
        if new is None or not isinstance(node, ast.Name | ast.Attribute):
            return self.generic_visit(node)
        return ast.copy_location(ast.Name(new, node.ctx), node)


def _dotted(node: ast.AST) -> str | None:
    """`nn.GRU` of an attribute of a name, `GRU` of a name."""
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value)
        return f"{base}.{node.attr}" if base else None
    return node.id if isinstance(node, ast.Name) else None


def _unparsed_in_class(node: ast.stmt) -> str:
    """Not by indenting text, which would reach into strings of several lines."""
    shell = parse("class _: pass").body[0]
    assert isinstance(shell, ast.ClassDef)
    shell.body = [node]
    return ast.unparse(shell).split("\n", 1)[1]


def _dumps(text: str, in_class: bool = False) -> list[str]:
    """The statements that the text holds, in the module or in the class that is all of it; none if it is broken."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = parse(text).body
    except (SyntaxError, ValueError):
        return []
    found = body[0].body if in_class and isinstance(body[0], ast.ClassDef) and len(body) == 1 else body
    return [ast.dump(node) for node in found]
