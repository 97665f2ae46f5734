"""`tilesmith op import`: the four files of a KernelGen download become an operator project."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from pathlib import Path

from tilesmith.errors import ProjectError, UsageError
from tilesmith.operators.exchange.download import DownloadReader, Hints
from tilesmith.operators.exchange.exported_text import without_header
from tilesmith.operators.exchange.exporting import write_files
from tilesmith.operators.interface import with_interface
from tilesmith.operators.project import TOML, code_digest, read_source, toml_text
from tilesmith.operators.records import KINDS, Project
from tilesmith.operators.source_edits import entry_of, read_syntax
from tilesmith.operators.writing import accuracy_text, performance_text


@dataclass(frozen=True)
class Imported:
    """What an import wrote, and what it had to assume."""

    operator: str
    signature: str
    out: str
    files: tuple[str, ...]
    notes: tuple[str, ...]


def import_project(folder: Path, out: Path | None, hints: Hints, force: bool = False) -> Imported:
    paths = _files_in(folder)
    texts = {kind: without_header(read_source(path)) for kind, path in paths.items()}
    for kind, path in paths.items():
        read_syntax(texts[kind], path)
    name = hints.name or paths["triton"].stem.removesuffix("_triton")
    entry = entry_of(texts["triton"], name, paths["triton"].name)
    entry_of(texts["baseline"], name, paths["baseline"].name)
    notes: list[str] = []
    operator = DownloadReader(paths, texts, hints, notes).operator(name, entry)
    if ".is_cuda" in ast.unparse(entry):
        notes.append(f"{paths['triton'].name} refuses tensors on a CPU (is_cuda): it can be checked on a GPU only")
    own = {kind: with_interface(texts[kind], operator, paths[kind].name) for kind in ("triton", "baseline")}
    operator = replace(operator, baseline=code_digest(own["baseline"]))
    project = Project(out or Path(name), operator)
    files = {
        operator.file_name("triton"): own["triton"],
        operator.file_name("baseline"): own["baseline"],
        operator.file_name("accuracy"): accuracy_text(operator),
        operator.file_name("performance"): performance_text(operator),
        TOML: toml_text(project),
    }
    write_files(project.folder, files, force)
    return Imported(name, operator.signature, str(project.folder), tuple(files), tuple(notes))


def _files_in(folder: Path) -> dict[str, Path]:
    """By the words in their names; KernelGen's tests are test_<op>_accuracy.py and test_<op>_performance.py."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; name the one with KernelGen's four files")
    if (folder / TOML).exists():
        raise UsageError(f"{folder} is an operator project already: tilesmith op check {folder}")
    found = {}
    for kind in KINDS:
        paths = [path for path in sorted(folder.glob("*.py")) if path.stem.endswith(f"_{kind}")]
        if len(paths) != 1:
            what = "no file" if not paths else f"{len(paths)} files"
            raise ProjectError(f"{folder}: {what} *_{kind}.py; a KernelGen download has exactly one")
        found[kind] = paths[0]
    return found
