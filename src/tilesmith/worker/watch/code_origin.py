"""Whose code is running: the candidate's, a library's, Python's own or ours, told by the files of the frames."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import lru_cache
from types import FrameType

_PACKAGE_ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..")) + os.sep
_STDLIB = tuple({os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib")})
_SITE = ("site-packages", "dist-packages")
_IMPORT_PATH = tuple(os.path.realpath(entry) + os.sep for entry in sys.path[1:] if os.path.isdir(entry))
"""As it was before any candidate, without the folder this process was started in: what the user put on PYTHONPATH
is a library, wherever it lies."""
_candidate_folders: list[str] = []
"""Where the kernel and its neighbors lie."""


class Origin(Enum):
    CANDIDATE = "candidate"
    LIBRARY = "library"
    PYTHON = "python"
    OURS = "ours"
    NOBODY = "nobody"
    """Code without a file: made by exec, or frozen into the interpreter."""


@lru_cache(maxsize=4096)
def origin_of(filename: str) -> Origin:
    """The innermost known folder around a file says whose it is; a file in none of them is the candidate's."""
    if filename.startswith("<"):
        return Origin.NOBODY
    path = os.path.realpath(filename)
    known = [
        (_innermost(path, _candidate_folders), Origin.CANDIDATE),
        (_innermost(path, (_PACKAGE_ROOT,)), Origin.OURS),
        (_site_folder(path), Origin.LIBRARY),
        (_innermost(path, _STDLIB), Origin.PYTHON),
        (_innermost(path, _IMPORT_PATH), Origin.LIBRARY),
    ]
    return max(known, key=lambda one: len(one[0]))[1]


def claim_for_candidate(folder: str) -> None:
    """From now on the files in `folder` are the candidate's, even where it is on the import path."""
    _candidate_folders.append(os.path.realpath(folder) + os.sep)
    origin_of.cache_clear()


def library_of(filename: str) -> str:
    """The package a library's file belongs to: `torch`, `triton`."""
    root = _site_folder(filename) or _innermost(filename, _IMPORT_PATH)
    return filename.removeprefix(root).split(os.sep)[0].removesuffix(".py") if root else ""


def _site_folder(path: str) -> str:
    for folder in _SITE:
        before, found, _ = path.rpartition(f"{os.sep}{folder}{os.sep}")
        if found:
            return before + found
    return ""


def _innermost(path: str, folders: Sequence[str]) -> str:
    return max((folder for folder in folders if path.startswith(folder)), key=len, default="")


def frames(skip: int) -> Iterator[FrameType]:
    """From the innermost outwards, without the first few."""
    frame: FrameType | None = sys._getframe(skip + 1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def responsible(stack: list[FrameType]) -> FrameType | None:
    """The innermost frame that is neither Python's own nor without a file."""
    return next((f for f in stack if _decides(f)), None)


def _decides(frame: FrameType) -> bool:
    return origin_of(frame.f_code.co_filename) in (Origin.CANDIDATE, Origin.LIBRARY, Origin.OURS)
