"""Writing files so that a reader sees the old one or the new one, never half of it."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

UNWRITABLE = "backslashreplace"
"""What becomes of half a character, which names of files and escapes in a model's JSON may hold: its number, which
JSON reads back as it was."""


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


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file of this thread's own beside `path`, which takes its place once the block has written it."""
    beside = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.new")
    try:
        yield beside
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _replace(path: Path, text: str, flush: bool) -> None:
    with replacing(path) as beside, beside.open("w", encoding="utf-8", newline="", errors=UNWRITABLE) as file:
        file.write(text)
        if flush:
            file.flush()
            os.fsync(file.fileno())


def remove_leftovers(folder: Path) -> None:
    """Remove what a kill in the middle of `write_atomically` left behind."""
    for beside in folder.rglob(".*.new"):
        beside.unlink(missing_ok=True)
