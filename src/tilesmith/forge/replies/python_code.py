"""Python as it comes out of a reply: parsed within a budget, repaired where a channel bent it, then joined."""

from __future__ import annotations

import ast
import builtins
import html
import re
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from tilesmith.syntax import parse

MODEL_CLASS = "ModelNew"
MODEL_LINE = re.compile(r"^[ \t]{0,64}class[ \t]{1,8}ModelNew\b", re.MULTILINE)
MOST_CHARACTERS = 1_000_000
"""A longer kernel is refused: a network's, with a launcher for every layer, may have 400,000. Also how much is
parsed of one reply, all tries together."""
_INVISIBLE = {0x200B: None, 0x200C: None, 0x200D: None, 0x2060: None, 0xFEFF: None, 0xA0: " ", 0x202F: " "}
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot);")
_ENTITY_NAMES = frozenset({"lt", "gt", "amp", "quot"})
_BUILTINS = frozenset(dir(builtins))
_SCOPED = (ast.If, ast.Try, ast.With)


class ParsedCode:
    """A stretch of Python that parses."""

    def __init__(self, text: str, tree: ast.Module) -> None:
        self.text = text
        self.tree = tree

    @cached_property
    def defines_model(self) -> bool:
        return any(isinstance(s, ast.ClassDef) and s.name == MODEL_CLASS for s in _statements(self.tree.body))

    @cached_property
    def defined(self) -> frozenset[str]:
        """Names that its top level offers to others."""
        inner = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)
        names: set[str] = set()
        for statement in _statements(self.tree.body):
            names |= {statement.name} if isinstance(statement, inner) else _bound(ast.walk(statement))
        return frozenset(names)

    @cached_property
    def missing(self) -> frozenset[str]:
        """Names it uses and nobody in it gives a meaning to."""
        used = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}
        return frozenset(used - _bound(ast.walk(self.tree)) - _BUILTINS)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, _SCOPED):
            yield from (child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.stmt))


def _bound(nodes: Iterable[ast.AST]) -> set[str]:
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
    return names


class BudgetedParser:
    """Parses as long as its budget lasts: dense code takes half a second per 300,000 characters."""

    def __init__(self) -> None:
        self.left = MOST_CHARACTERS

    def read(self, text: str) -> ParsedCode | None:
        """The code as it is, else without its indentation, else with what a channel did to it undone."""
        for version in _versions(text):
            piece = self._parse(version)
            if piece is None:
                continue
            if (
                _ENTITY.search(version) and piece.missing & _ENTITY_NAMES
            ):  # `a &lt; b` is Python too, but nobody's meaning
                return self._parse(html.unescape(version)) or piece
            return piece
        return None

    def _parse(self, text: str) -> ParsedCode | None:
        self.left -= len(text)
        if self.left < 0:
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ParsedCode(text, parse(text))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _versions(text: str) -> Iterator[str]:
    repairs: tuple[Callable[[str], str], ...] = (
        lambda code: code,
        textwrap.dedent,
        lambda code: code.translate(_INVISIBLE),
        lambda code: code.expandtabs(4),
        html.unescape,
    )
    tried: list[str] = []
    for repair in repairs:
        text = repair(text)
        if text not in tried and len(text) <= MOST_CHARACTERS:
            tried.append(text)
            yield text


def join_needed_pieces(model: int, pieces: list[ParsedCode]) -> str:
    """The piece with the model and the other pieces that define what it lacks, in the order of the reply."""
    if len(pieces) == 1:
        return pieces[0].text
    chosen, wanted = {model}, set(pieces[model].missing)
    for _ in pieces:
        others = [i for i, piece in enumerate(pieces) if i not in chosen and not piece.defines_model]
        more = {i for i in others if pieces[i].defined & wanted}
        if not more:
            break
        chosen |= more
        wanted = {name for i in chosen for name in pieces[i].missing}
        wanted -= {name for i in chosen for name in pieces[i].defined}
    return "\n\n\n".join(pieces[i].text.strip("\n") for i in sorted(chosen))
