"""What ModelNew takes over from the task's own source: its constructor and all that the constructor needs.

By syntax tree, word for word, so that parameters get the same names, shapes and initial values.
"""

from __future__ import annotations

import ast
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from tilesmith.playbook.symbols import Unmatched
from tilesmith.tasks.source import TaskSource, parse_task

NEW_NAME = "ModelNew"
OURS = {"torch": "torch", "nn": "torch.nn", "triton": "triton", "tl": "triton.language"}
"""Names that every written file imports by itself, and what they stand for."""


@dataclass(frozen=True)
class TaskCode:
    """The parts of a task that a written file repeats."""

    imports: tuple[str, ...]
    definitions: tuple[str, ...]
    """Module-level constants, functions and classes that the constructor uses."""
    bases: str
    body: str
    """The class without `forward`, indented as in a class; empty where there is nothing but `forward`."""
    signature: str
    """`self, x: torch.Tensor`"""
    returns: str
    """` -> torch.Tensor`, or empty."""
    names: frozenset[str]
    """What the repeated parts define at module level."""


def read_task_code(name: str, text: str) -> TaskCode:
    source = parse_task(Path(f"{name}.py"), text)
    return _Reader(source).read()


def refuse_constants(code: TaskCode, names: Sequence[str]) -> None:
    """The constants of a tuning must not hide the task's own."""
    for name in names:
        if name in code.names:
            raise Unmatched(f"has a constant of its own called {name}")


class _Reader:
    def __init__(self, source: TaskSource) -> None:
        self._lines = source.text.splitlines()
        self._model = source.model_name
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._tree = ast.parse(source.text)
        found = [node for node in self._tree.body if isinstance(node, ast.ClassDef) and node.name == self._model]
        if not found:
            raise Unmatched(f"takes class {self._model} from another file")
        self._class = found[-1]

    def read(self) -> TaskCode:
        forward = self._method("forward")
        if forward is None or forward.args.vararg or forward.args.kwarg:
            raise Unmatched("has no forward with plain arguments")
        kept = [node for node in self._kept() if not _is_docstring(node)]
        annotations = [forward.args, *([forward.returns] if forward.returns else [])]
        wanted = _free_names([*kept, *self._class.bases, *self._class.decorator_list, *annotations])
        needed = self._needed(wanted)
        imports = tuple(line for node in needed if _is_import(node) for line in _kept_import(node, wanted))
        definitions = tuple(self._renamed(self._text(node)) for node in needed if not _is_import(node))
        names = frozenset(name for node in needed for name in _defined(node))
        bases = ", ".join(ast.unparse(base) for base in (*self._class.bases, *self._class.keywords))
        body = "\n\n".join(self._renamed(self._text(node)) for node in kept)
        returns = f" -> {ast.unparse(forward.returns)}" if forward.returns else ""
        return TaskCode(imports, definitions, bases, body, ast.unparse(forward.args), returns, names)

    def _method(self, name: str) -> ast.FunctionDef | None:
        found = [node for node in self._class.body if isinstance(node, ast.FunctionDef) and node.name == name]
        return found[-1] if found else None

    def _kept(self) -> list[ast.stmt]:
        """Everything but `forward` and the methods that only `forward` calls."""
        methods = {node.name: node for node in self._class.body if isinstance(node, ast.FunctionDef)}
        called = {"__init__"} & set(methods)
        waiting = list(called)
        while waiting:
            inside = ast.walk(methods[waiting.pop()])
            used = {node.attr for node in inside if isinstance(node, ast.Attribute)} & set(methods)
            waiting += used - called - {"forward"}
            called |= used - {"forward"}
        return [
            node
            for node in self._class.body
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name in called
        ]

    def _needed(self, wanted: set[str]) -> list[ast.stmt]:
        """Statements of the module that define `wanted` names, and what those need in turn: `wanted` grows."""
        chosen: set[int] = set()
        statements = self._tree.body
        grown = True
        while grown:
            grown = False
            for position, node in enumerate(statements):
                if position not in chosen and node is not self._class and _defined(node) & (wanted | {"*"}):
                    chosen.add(position)
                    wanted |= _free_names([node])
                    grown = True
        return [statements[position] for position in sorted(chosen)]

    def _text(self, node: ast.stmt) -> str:
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        return "\n".join(self._lines[first - 1 : node.end_lineno])

    def _renamed(self, text: str) -> str:
        """The class calls itself by its new name: `super(Model, self)`."""
        tree = ast.parse(textwrap.dedent(text))
        indent = len(text) - len(text.lstrip())
        lines = text.splitlines()
        spots = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == self._model]
        for node in sorted(spots, key=lambda spot: (spot.lineno, spot.col_offset), reverse=True):
            line, start = lines[node.lineno - 1], node.col_offset + indent
            lines[node.lineno - 1] = line[:start] + NEW_NAME + line[start + len(self._model) :]
        return "\n".join(lines)


def _is_import(node: ast.stmt) -> TypeGuard[ast.Import | ast.ImportFrom]:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _free_names(nodes: Sequence[ast.AST]) -> set[str]:
    """Names that the nodes take from outside: neither parameters nor variables of their own functions."""
    found: set[str] = set()
    for node in nodes:
        inside = _free_names(list(ast.iter_child_nodes(node)))
        if isinstance(node, ast.Name):
            inside.add(node.id)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inside -= {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
            body = node.body if isinstance(node.body, list) else []
            inside -= {one.id for part in body for one in ast.walk(part) if _is_stored(one)}
        found |= inside
    return found


def _is_stored(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _defined(node: ast.stmt) -> set[str]:
    if _is_import(node):
        return {(alias.asname or alias.name.split(".")[0]) for alias in node.names}
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return {node.name}
    return {one.id for one in ast.walk(node) if _is_stored(one)}


def _kept_import(node: ast.Import | ast.ImportFrom, wanted: set[str]) -> Iterator[str]:
    """The import with only the names that are used, and none that every written file has anyway."""
    module = getattr(node, "module", None)
    kept = []
    for alias in node.names:
        name = alias.asname or alias.name.split(".")[0]
        full = f"{module}.{alias.name}" if module else alias.name
        if (name in wanted or alias.name == "*") and OURS.get(name) != full:
            kept.append(alias)
    if isinstance(node, ast.Import):
        yield from (ast.unparse(ast.Import([alias])) for alias in kept)
    elif kept:
        yield ast.unparse(ast.ImportFrom(module, kept, node.level))
