"""Modules and their files, found by looking at folders the way Python's import does, without importing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_INIT = "__init__.py"


@dataclass(frozen=True)
class ModuleFile:
    """A file of Python code and the name it is imported by."""

    path: Path
    module: str
    """Dotted. A file outside of packages is imported by its stem."""
    root: Path
    """The folder that must be on the import path for that."""

    @property
    def package(self) -> str:
        """What its relative imports start from; empty outside of packages."""
        return self.module if self.path.name == _INIT else self.module.rpartition(".")[0]


def file_of_path(path: Path) -> ModuleFile:
    """The package root is the topmost folder upwards with an `__init__.py`."""
    folder = path.resolve().parent
    parts = [] if path.name == _INIT else [path.stem]
    while (folder / _INIT).is_file() and folder.name.isidentifier():
        parts.insert(0, folder.name)
        folder = folder.parent
    return ModuleFile(path, ".".join(parts) or path.stem, folder)


def find_module(module: str, import_path: Sequence[str | Path]) -> ModuleFile | None:
    """The file of a module: the last of `files_on_the_way`, where the way ends in a file."""
    for entry in import_path:
        files = list(files_on_the_way(module, Path(entry)))
        if files and files[-1].module == module:
            return files[-1]
    return None


def files_on_the_way(module: str, root: Path) -> Iterator[ModuleFile]:
    """What an import of a dotted name executes, as far as it is found under `root`: packages, then the module."""
    folder, name = root, ""
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        if (folder / part / _INIT).is_file():
            yield ModuleFile(folder / part / _INIT, name, root)
        elif (file := folder / f"{part}.py").is_file():
            yield ModuleFile(file, name, root)
            return
        elif not (folder / part).is_dir():  # a folder without __init__.py is a package too, and executes nothing
            return
        folder = folder / part
