"""`tilesmith op export`: a project's files as another home wants them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tilesmith.errors import UsageError
from tilesmith.operators.exchange import flaggems, kernelgen, module, provenance, torch_library
from tilesmith.operators.interface import read_whole_project
from tilesmith.operators.records import Project
from tilesmith.runs.atomic_files import write_atomically

Texts = Mapping[str, str]
"""By the path of a file, relative to where it shall lie."""
TARGETS: Mapping[str, Callable[[Project, Texts], dict[str, str]]] = {
    "flaggems": flaggems.exported_files,
    "torch-library": torch_library.exported_files,
    "module": module.exported_files,
    "kernelgen": kernelgen.exported_files,
}


@dataclass(frozen=True)
class Exported:
    """What an export wrote."""

    operator: str
    target: str
    out: str
    files: tuple[str, ...]
    verified: str
    """What every file says of its verification."""
    is_verified: bool


def export_project(folder: Path, target: str, out: Path, force: bool = False) -> Exported:
    if target not in TARGETS:
        raise UsageError(f"--to {target}: an operator goes to {', '.join(TARGETS)}")
    project, texts = read_whole_project(folder)
    if out.resolve() == folder.resolve():
        raise UsageError(f"--out {out} is the project itself: choose another folder")
    files = TARGETS[target](project, texts)
    write_files(out, files, force)
    said, holds = provenance.verified(project, texts), provenance.is_verified(project, texts)
    return Exported(project.operator.name, target, str(out), tuple(files), said, holds)


def write_files(out: Path, files: Texts, force: bool = False) -> None:
    """All of them or none; a file that is there already and says something else is the user's."""
    taken = [name for name, text in files.items() if _differs(out / name, text)]
    if taken and not force:
        raise UsageError(f"{out / taken[0]} exists and is another file: choose another --out, or add --force")
    for name, text in files.items():
        path = out / PurePosixPath(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, text)
        except OSError as error:
            raise UsageError(f"{path}: cannot be written: {error.strerror}; choose another --out") from None


def _differs(path: Path, text: str) -> bool:
    try:
        return path.read_text(encoding="utf-8") != text
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
