"""`tilesmith op export`: a project's files as another home wants them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tilesmith.errors import UsageError
from tilesmith.operators.exchange.exported_text import exported_project, verification_of
from tilesmith.operators.exchange.homes import HOMES
from tilesmith.operators.interface import read_whole_project
from tilesmith.runs.atomic_files import write_atomically


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
    if target not in HOMES:
        raise UsageError(f"--to {target}: an operator goes to {', '.join(HOMES)}")
    project, texts = read_whole_project(folder)
    if out.resolve() == folder.resolve():
        raise UsageError(f"--out {out} is the project itself: choose another folder")
    files = HOMES[target](exported_project(project, texts))
    write_files(out, files, force)
    verification = verification_of(project, texts)
    return Exported(project.operator.name, target, str(out), tuple(files), verification.told, verification.holds)


def write_files(out: Path, files: Mapping[str, str], force: bool = False) -> None:
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
