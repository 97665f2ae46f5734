"""What a task imports of its user's own code, read off the import statements."""

from __future__ import annotations

import ast
import hashlib
import sysconfig
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from tilesmith.syntax import parse
from tilesmith.tasks.user_code.module_files import ModuleFile, files_on_the_way

MOST_FILES = 300
_MOST_BYTES = 1_000_000
_INSTALLED = {"site-packages", "dist-packages"}
_STANDARD = tuple({Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")})


def own_imports(files: Sequence[ModuleFile], import_path: Sequence[str]) -> tuple[ModuleFile, ...]:
    """The files that `files` import and those import in turn, in the order they are met, without `files`.

    Own are those under the import path or the task's package, but not installed packages and not Python's own.
    """
    known = {file.path.resolve() for file in files}
    found: list[ModuleFile] = []
    pending = list(files)
    while pending and len(found) < MOST_FILES:
        file = pending.pop(0)
        roots = dict.fromkeys([file.root, *map(Path, import_path)])
        for name in _imported(file):
            for met in _met(name, roots):
                if met.path.resolve() not in known and _is_own(met.path):
                    known.add(met.path.resolve())
                    found.append(met)
                    pending.append(met)
    return tuple(found[:MOST_FILES])


def digest_of(files: Sequence[ModuleFile]) -> str:
    """Changes when any of the files does; empty for none."""
    if not files:
        return ""
    contents = (f"{file.module}\0".encode() + _bytes(file.path) for file in files)
    return hashlib.sha256(b"\0\0".join(contents)).hexdigest()


def _met(name: str, roots: dict[Path, None]) -> list[ModuleFile]:
    """Under the first root that has anything of that name."""
    return next((files for root in roots if (files := list(files_on_the_way(name, root)))), [])


def _imported(file: ModuleFile) -> Iterator[str]:
    """The file's package, and every dotted name it imports anywhere; of `from a import b` both `a` and `a.b`."""
    parts = file.package.split(".")
    if file.package:
        yield file.package
    for node in _nodes(file.path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = ".".join(parts[: len(parts) - node.level + 1]) if node.level and file.package else ""
            base = ".".join(part for part in (above, node.module) if part)
            if not base or (node.level and not above):
                continue
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names if alias.name != "*")


def _nodes(path: Path) -> Iterator[ast.AST]:
    """None where the file cannot be read: whoever executes it says what is wrong."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.walk(parse(_bytes(path).decode("utf-8-sig")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return iter(())


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.stat().st_size <= _MOST_BYTES else b""
    except OSError:
        return b""


def _is_own(path: Path) -> bool:
    where = path.resolve()
    return not _INSTALLED & set(where.parts) and not any(where.is_relative_to(folder) for folder in _STANDARD)
