"""Changes to a Python file that leave every other character as its author wrote it."""

from __future__ import annotations

import ast
import io
import itertools
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tilesmith.errors import ProjectError
from tilesmith.syntax import parse

KERNEL_DECORATORS = ("jit", "autotune", "heuristics")


@dataclass(frozen=True)
class TextReplacement:
    """What stands in one place of a text, and what shall stand there instead."""

    line: int
    """Counted from 1, as `ast` does."""
    column: int
    """Counted in bytes, as `ast` does."""
    old: str
    new: str


def replaced(text: str, changes: Iterable[TextReplacement]) -> str:
    data = text.encode()
    starts = [0, *itertools.accumulate(map(len, data.splitlines(keepends=True)))]
    for one in sorted(changes, key=lambda change: (change.line, change.column), reverse=True):
        start = starts[one.line - 1] + one.column
        data = data[:start] + one.new.encode() + data[start + len(one.old.encode()) :]
    return data.decode()


def in_place_of(node: ast.expr | ast.stmt, text: str, new: str) -> TextReplacement:
    return TextReplacement(node.lineno, node.col_offset, ast.get_source_segment(text, node) or "", new)


def is_docstring(node: ast.stmt | None = None) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def constants_of(tree: ast.Module) -> dict[str, ast.expr]:
    """What the module gives to single names."""
    pairs = ((one.targets[0], one.value) for one in tree.body if isinstance(one, ast.Assign))
    return {target.id: value for target, value in pairs if isinstance(target, ast.Name)}


def entry_of(text: str, name: str, path: str) -> ast.FunctionDef:
    """The function called from outside: the last of that name, for a kernel may have had it before."""
    found = [node for node in _module(text, path).body if isinstance(node, ast.FunctionDef) and node.name == name]
    if not found or _is_kernel(found[-1]):
        raise ProjectError(f"{path} has no function {name}: every file of the project must have it under that name")
    return found[-1]


def kernel_names(text: str) -> frozenset[str]:
    """Every name that a Triton kernel has at the module's level, its second names included."""
    names: set[str] = set()
    for node in parse(text).body:
        if isinstance(node, ast.FunctionDef) and _is_kernel(node):
            names.add(node.name)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in names:
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return frozenset(names)


def with_wrapped_launches(text: str, wrapper: str) -> str:
    """`kernel[grid](...)` as `wrapper(kernel)[grid](...)`, wherever a kernel is launched."""
    names = kernel_names(text)
    launched = (
        node.func.value
        for node in ast.walk(parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript)
    )
    return replaced(
        text,
        [
            TextReplacement(name.lineno, name.col_offset, name.id, f"{wrapper}({name.id})")
            for name in launched
            if isinstance(name, ast.Name) and name.id in names
        ],
    )


def with_imports(text: str, first: str, last: str) -> str:
    """`first` before the imports, but after the docstring and `__future__`; `last` after the imports."""
    body = parse(text).body
    start = int(is_docstring(*body[:1]))
    while start < len(body) and isinstance(node := body[start], ast.ImportFrom) and node.module == "__future__":
        start += 1
    end = start
    while end < len(body) and isinstance(body[end], ast.Import | ast.ImportFrom):
        end += 1
    lines = _lines(text)
    top = _last_line(body[start - 1]) if start else 0
    bottom = _last_line(body[end - 1]) if end else 0
    imports = "".join(lines[top:bottom]).lstrip("\n")
    gap = "\n" if start else ""
    return "".join([*lines[:top], gap, first, imports, last, *lines[bottom:]])


def with_prologue(text: str, entry: ast.FunctionDef, statement: str, context: str) -> str:
    """The entry with `statement` as its first, and everything after that inside `with context:`."""
    start, end = _body_start(text, entry), _last_line(entry)
    indent, inside = " " * entry.body[0].col_offset, set(_lines_inside_strings(text))
    lines = _lines(text)
    moved = [
        f"    {line}" if line.strip() and number not in inside else line
        for number, line in enumerate(lines[start:end], start + 1)
    ]
    opening = [f"{indent}{statement}\n", f"{indent}with {context}:\n"]
    return "".join([*lines[:start], *opening, *moved, *lines[end:]])


def with_head(text: str, entry: ast.FunctionDef, head: str, docstring: str) -> str:
    """The entry with another head, from `def` to the colon, and another docstring."""
    lines = _lines(text)
    start, indent = _body_start(text, entry), " " * entry.body[0].col_offset
    told = docstring.replace("\\", "\\\\").replace('"""', "'''").splitlines()
    inner = "".join(f"{indent}{line}\n" if line else "\n" for line in [*told[1:], '"""'])
    return "".join([*lines[: entry.lineno - 1], f'{head}\n{indent}"""{told[0]}\n{inner}', *lines[start:]])


class Parts(NamedTuple):
    """A file without its docstring, for a place inside another file that imports torch itself."""

    imports: str
    rest: str


def parts_of(text: str) -> Parts:
    body = parse(text).body
    start = end = int(is_docstring(*body[:1]))
    while end < len(body) and isinstance(body[end], ast.Import | ast.ImportFrom):
        end += 1
    lines = _lines(text)
    rest = "".join(lines[_last_line(body[end - 1]) if end else 0 :])
    imports = [ast.unparse(node) for node in body[start:end]]
    kept = [line for line in imports if line != "import torch" and not line.startswith("from __future__")]
    return Parts("\n".join(kept), rest.strip())


def _lines(text: str) -> list[str]:
    """As Python counts them: a form feed, which `splitlines` takes for an end, is a character."""
    return io.StringIO(text).readlines()


def _module(text: str, path: str) -> ast.Module:
    try:
        return parse(text)
    except SyntaxError as error:
        raise ProjectError(f"{path}:{error.lineno}: {error.msg}; mend it first") from None


def _is_kernel(node: ast.FunctionDef) -> bool:
    return any(ast.unparse(one).split("(")[0].split(".")[-1] in KERNEL_DECORATORS for one in node.decorator_list)


def _last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _body_start(text: str, entry: ast.FunctionDef) -> int:
    """The last line of the docstring, or of the head where there is none: the one with the colon."""
    if entry.body[0].lineno == entry.lineno:
        raise ProjectError(f"{entry.name}: put its body on lines of its own, below `def`")
    if is_docstring(entry.body[0]):
        return _last_line(entry.body[0])
    lines = _lines(text)
    number = entry.body[0].lineno - 1
    while number > entry.lineno and not lines[number - 1].split("#")[0].strip():
        number -= 1
    return number


def _lines_inside_strings(text: str) -> Iterator[int]:
    """Lines that begin inside a string of several lines, where indentation is part of the value."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.DEDENT, tokenize.INDENT):
            yield from range(token.start[0] + 1, token.end[0] + 1)
