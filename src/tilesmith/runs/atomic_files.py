"""Writing files so that a reader sees the old one or the new one, never half of it."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Replace `path` by `text` in one step, on disk when this returns."""
    _replace(path, text, flush=True)


def write_if_changed(path: Path, text: str) -> None:
    """The same for a file that can be made again: not flushed, and left alone if it is right already."""
    try:
        if path.read_text(encoding="utf-8") == text:
            return
    except (OSError, ValueError):
        pass
    _replace(path, text, flush=False)


def _replace(path: Path, text: str, flush: bool) -> None:
    beside = path.with_name(f".{path.name}.new")
    with beside.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        if flush:
            file.flush()
            os.fsync(file.fileno())
    os.replace(beside, path)


def remove_leftovers(folder: Path) -> None:
    """Remove what a kill in the middle of `write_atomically` left behind."""
    for beside in folder.rglob(".*.new"):
        beside.unlink()
