"""What a kernel file imports from its own folder, and so may read there: no more than that.

The folder itself is not granted. It may be a home, a run full of other candidates, or /tmp.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from tilesmith.lint import KernelSource
from tilesmith.process.sandbox import Grants
from tilesmith.syntax import parse
from tilesmith.tasks.source import TaskSource
from tilesmith.tasks.user_code.module_files import ModuleFile

_MOST_FILES = 200


def grants_for(kernel: Path, source: KernelSource) -> Grants:
    """The kernel's file and the modules beside it that it names, with those that they name."""
    found = _neighbors(kernel, source.syntax.nodes)
    listable = (str(kernel.resolve().parent),) if found else ()
    return Grants(readable=(str(kernel.resolve()), *map(str, found)), listable=listable)


def files_of_kernel(kernel: Path) -> list[Path]:
    """All that another machine needs of it: its file and, file by file, the modules beside it that it names."""
    files = [kernel]
    for nodes in _parsed(kernel):
        for one in _neighbors(kernel, nodes):
            files += [one] if one.is_file() else [file for file in one.rglob("*") if file.is_file()]
    return files


def _neighbors(kernel: Path, nodes: Iterable[ast.AST]) -> list[Path]:
    folder = kernel.resolve().parent
    found: dict[Path, None] = {}
    pending: list[Iterable[ast.AST]] = [nodes]
    while pending and len(found) < _MOST_FILES:
        for name in _imported(pending.pop()):
            for neighbor in _beside(folder, name):
                if neighbor not in found:
                    found[neighbor] = None
                    pending += _parsed(neighbor)
    return list(found)


def grants_for_types(task: TaskSource) -> Grants:
    """The task's file and the user's own files that it imports: to be read, so that its arguments can be."""
    files = (task.file, *task.own_files)
    folders = {folder for file in files for folder in _folders_of(file)}
    return Grants(readable=tuple(str(f.path.resolve()) for f in files), listable=tuple(map(str, sorted(folders))))


def _folders_of(file: ModuleFile) -> Iterator[Path]:
    """From the one on the import path down to that of the file."""
    folder, root = file.path.resolve().parent, file.root.resolve()
    yield folder
    while folder != root and folder.is_relative_to(root):
        folder = folder.parent
        yield folder


def _imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The first part of every name that is imported anywhere."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _beside(folder: Path, name: str) -> Iterator[Path]:
    """A module, compiled ones too, or a package that says it is one: any other folder might be anything."""
    if (folder / name / "__init__.py").is_file():
        yield folder / name
    yield from (one for one in (folder / f"{name}.py", *folder.glob(f"{name}.*.so")) if one.is_file())


def _parsed(neighbor: Path) -> Iterator[Iterable[ast.AST]]:
    """The nodes of each readable Python file."""
    files = [neighbor] if neighbor.suffix == ".py" else sorted(neighbor.rglob("*.py"))[:_MOST_FILES]
    for file in files:
        try:
            yield ast.walk(parse(file.read_text()))
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue
