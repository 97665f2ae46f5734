"""Folders that a child has written into, handled from outside without believing what lies in them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from pathlib import Path


def copy_plain_files(source: Path, target: Path) -> None:
    """Plain files and folders alone. A link would be followed with our rights, a pipe would never end."""
    with contextlib.suppress(OSError, RecursionError):
        shutil.copytree(source, target, symlinks=True, ignore=_not_plain, dirs_exist_ok=True)


def copy_triton_cache(source: Path, target: Path) -> None:
    """What Triton compiled, for a process with another folder: its notes name files by their full paths."""
    copy_plain_files(source, target)
    for note in target.glob("*/__grp__*.json"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            names = json.loads(note.read_text(encoding="utf-8"))["child_paths"]
            paths = {name: str(note.parent / os.path.basename(name)) for name in names}
            note.write_text(json.dumps({"child_paths": paths}), encoding="utf-8")


def remove(folder: Path) -> None:
    """All of it, even where the child took its own rights away or nested folders deeper than Python recurses."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if not os.path.lexists(folder):
        return
    for command in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
        with contextlib.suppress(OSError):
            subprocess.run([*command, "--", str(folder)], capture_output=True, check=False)


def _not_plain(folder: str, names: list[str]) -> list[str]:
    paths = {name: os.path.join(folder, name) for name in names}
    return [
        name
        for name, path in paths.items()
        if os.path.islink(path) or not (os.path.isfile(path) or os.path.isdir(path))
    ]
