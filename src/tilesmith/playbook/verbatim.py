"""Statements of a task's source, word for word where that is safe, with a class under its new name.

Safe means: read back, the text is the same statement. Where it is not (two spaces of indentation, several
statements on a line, a name inside an f-string) the statement is written anew from the syntax tree.
"""

from __future__ import annotations

import ast
import copy
import re
import warnings

_INDENT = 4
_LINE_END = re.compile(r"\r\n|\r|\n")
"""What ends a line for Python; `splitlines` knows more ends than that."""


class Verbatim:
    def __init__(self, text: str, old: str, new: str) -> None:
        self._lines = _LINE_END.split(text)
        self._old, self._new = old, new

    def at_module_level(self, node: ast.stmt) -> str:
        wanted = self._under_new_name(node)
        text = self._renamed_lines(node)
        is_same = node.col_offset == 0 and _dumps(text) == [ast.dump(wanted)]
        return text if is_same else ast.unparse(wanted)

    def in_class(self, node: ast.stmt) -> str:
        """Indented as the body of a class."""
        wanted = self._under_new_name(node)
        text = self._renamed_lines(node)
        is_same = node.col_offset == _INDENT and _dumps(f"class _:\n{text}", in_class=True) == [ast.dump(wanted)]
        return text if is_same else _unparsed_in_class(wanted)

    def _under_new_name(self, node: ast.stmt) -> ast.stmt:
        wanted = copy.deepcopy(node)
        for name in self._spots(wanted):
            name.id = self._new
        return wanted

    def _spots(self, node: ast.stmt) -> list[ast.Name]:
        return [one for one in ast.walk(node) if isinstance(one, ast.Name) and one.id == self._old]

    def _renamed_lines(self, node: ast.stmt) -> str:
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        lines = [line.encode() for line in self._lines[first - 1 : node.end_lineno]]
        for spot in sorted(self._spots(node), key=lambda spot: (spot.lineno, spot.col_offset), reverse=True):
            line, start = lines[spot.lineno - first], spot.col_offset  # in bytes, as the syntax tree counts
            lines[spot.lineno - first] = line[:start] + self._new.encode() + line[start + len(self._old.encode()) :]
        return b"\n".join(lines).decode(errors="replace")


def _unparsed_in_class(node: ast.stmt) -> str:
    """Not by indenting text, which would reach into strings of several lines."""
    shell = ast.parse("class _: pass").body[0]
    assert isinstance(shell, ast.ClassDef)
    shell.body = [node]
    return ast.unparse(shell).split("\n", 1)[1]


def _dumps(text: str, in_class: bool = False) -> list[str]:
    """The statements that the text holds, in the module or in the class that is all of it; none if it is broken."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return []
    found = body[0].body if in_class and isinstance(body[0], ast.ClassDef) and len(body) == 1 else body
    return [ast.dump(node) for node in found]
