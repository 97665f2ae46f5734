"""Writing files so that a reader sees the old one or the new one, never half of it."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Replace `path` by `text` in one step that survives a crash."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    with beside.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
