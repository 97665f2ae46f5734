"""A Python file as text and syntax: what it has at its top level, and changes that leave every other character as
its author wrote it."""

from __future__ import annotations

import ast
import io
import itertools
import tokenize
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tilesmith.errors import ProjectError
from tilesmith.syntax import parse

KERNEL_DECORATORS = ("jit", "autotune", "heuristics")


class Edit(NamedTuple):
    """What shall stand between two places: each a line, counted from 1, and a column in bytes, as `ast` counts."""

    start: tuple[int, int]
    end: tuple[int, int]
    new: str


def in_place_of(node: ast.expr | ast.stmt, new: str) -> Edit:
    return Edit((node.lineno, node.col_offset), end_of(node), new)


def before_line(line: int, new: str) -> Edit:
    return Edit((line, 0), (line, 0), new)


def end_of(node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or 0


def edited(text: str, edits: Iterable[Edit]) -> str:
    data = text.encode()
    starts = [0, *itertools.accumulate(map(len, data.splitlines(keepends=True)))]
    for one in sorted(edits, key=lambda edit: edit.start)[::-1]:  # of two at one place, the first comes first
        start, end = (starts[line - 1] + column for line, column in (one.start, one.end))
        data = data[:start] + one.new.encode() + data[end:]
    return data.decode()


def read_syntax(text: str, path: object) -> ast.Module:
    """Raises ProjectError, in one line that names the file, where Python cannot read it."""
    try:
        return parse(text)
    except SyntaxError as error:
        line = "" if error.lineno is None else f", line {error.lineno}"
        raise ProjectError(f"{path}{line}: {error.msg}; Python cannot read it") from None


def is_docstring(node: ast.stmt | None = None) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    return body[1:] if is_docstring(*body[:1]) else body


def constants_of(tree: ast.Module) -> dict[str, ast.expr]:
    """What the module gives to single names."""
    pairs = ((one.targets[0], one.value) for one in tree.body if isinstance(one, ast.Assign))
    return {target.id: value for target, value in pairs if isinstance(target, ast.Name)}


def functions_of(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """Of several with one name the last, which is called from outside: a kernel may have had it before."""
    return {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}


def entry_of(text: str, name: str, path: str) -> ast.FunctionDef:
    entry = functions_of(read_syntax(text, path)).get(name)
    if entry is None or is_kernel(entry):
        raise ProjectError(f"{path} has no function {name}: every file of the project must have it under that name")
    return entry


class PlainArgument(NamedTuple):
    """A parameter as a `def` has it."""

    name: str
    annotation: ast.expr | None
    default: ast.expr | None
    line: int


def plain_arguments(function: ast.FunctionDef, where: str = "") -> list[PlainArgument]:
    """Raises ProjectError where there are others than an operator may have; `where` begins its line."""
    given = function.args
    if given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs:
        raise ProjectError(
            f"{where}line {function.lineno}: {function.name} may have plain parameters only; remove *, ** and /"
        )
    defaults = [*[None] * (len(given.args) - len(given.defaults)), *given.defaults]
    pairs = zip(given.args, defaults, strict=True)
    return [PlainArgument(one.arg, one.annotation, default, one.lineno) for one, default in pairs]


def is_kernel(node: ast.FunctionDef) -> bool:
    return any(ast.unparse(one).split("(")[0].split(".")[-1] in KERNEL_DECORATORS for one in node.decorator_list)


def with_wrapped_launches(text: str, wrapper: str) -> str:
    """`kernel[grid](...)` as `wrapper(kernel)[grid](...)`, wherever a kernel is launched, by a second name too."""
    tree, names = parse(text), set[str]()
    for top in tree.body:
        if isinstance(top, ast.FunctionDef) and is_kernel(top):
            names.add(top.name)
        elif isinstance(top, ast.Assign) and isinstance(top.value, ast.Name) and top.value.id in names:
            names |= {target.id for target in top.targets if isinstance(target, ast.Name)}
    edits: list[Edit] = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Subscript(value=ast.Name(id=name) as launched)) if name in names:
                edits.append(in_place_of(launched, f"{wrapper}({name})"))
    return edited(text, edits)


def with_imports(text: str, first: str, last: str) -> str:
    """`first` before the imports, but after the docstring and `__future__`; `last` after the imports."""
    body = parse(text).body
    start = int(is_docstring(*body[:1]))
    while start < len(body) and isinstance(node := body[start], ast.ImportFrom) and node.module == "__future__":
        start += 1
    top, bottom = (_line_after(body, end) for end in (start, _end_of_imports(body, start)))
    imports = "".join(_lines(text)[top:bottom]).lstrip("\n")
    gap = "\n" if start else ""
    return edited(text, [Edit((top + 1, 0), (bottom + 1, 0), f"{gap}{first}{imports}{last}")])


def with_prologue(text: str, entry: ast.FunctionDef, statement: str, context: str) -> str:
    """The entry with `statement` as its first, and everything after that inside `with context:`."""
    start, end = _body_start(text, entry), end_of(entry)[0]
    indent, inside = " " * entry.body[0].col_offset, set(_lines_inside_strings(text))
    moved = [
        before_line(number, "    ")
        for number, line in enumerate(_lines(text)[start:end], start + 1)
        if line.strip() and number not in inside
    ]
    return edited(text, [before_line(start + 1, f"{indent}{statement}\n{indent}with {context}:\n"), *moved])


def with_head(text: str, entry: ast.FunctionDef, head: str, docstring: str) -> str:
    """The entry with another head, from `def` to the colon, and another docstring."""
    indent = " " * entry.body[0].col_offset
    told = docstring.replace("\\", "\\\\").replace('"""', "'''").splitlines()
    inner = "".join(f"{indent}{line}\n" if line else "\n" for line in [*told[1:], '"""'])
    new = f'{head}\n{indent}"""{told[0]}\n{inner}'
    return edited(text, [Edit((entry.lineno, 0), (_body_start(text, entry) + 1, 0), new)])


class Parts(NamedTuple):
    """A file without its docstring, for a place inside another file that imports torch itself."""

    imports: str
    rest: str


def parts_of(text: str) -> Parts:
    body = parse(text).body
    start = int(is_docstring(*body[:1]))
    end = _end_of_imports(body, start)
    imports = [ast.unparse(node) for node in body[start:end]]
    kept = [line for line in imports if line != "import torch" and not line.startswith("from __future__")]
    return Parts("\n".join(kept), "".join(_lines(text)[_line_after(body, end) :]).strip())


def _end_of_imports(body: list[ast.stmt], start: int) -> int:
    imports = itertools.takewhile(lambda node: isinstance(node, ast.Import | ast.ImportFrom), body[start:])
    return start + len(list(imports))


def _line_after(body: list[ast.stmt], count: int) -> int:
    """How many lines the first statements take."""
    return end_of(body[count - 1])[0] if count else 0


def _lines(text: str) -> list[str]:
    """As Python counts them: a form feed, which `splitlines` takes for an end, is a character."""
    return io.StringIO(text).readlines()


def _body_start(text: str, entry: ast.FunctionDef) -> int:
    """The last line of the docstring, or of the head where there is none: the one with the colon."""
    if entry.body[0].lineno == entry.lineno:
        raise ProjectError(f"{entry.name}: put its body on lines of its own, below `def`")
    if is_docstring(entry.body[0]):
        return end_of(entry.body[0])[0]
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
