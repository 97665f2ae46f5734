"""Whose code is running: the candidate's, a library's, Python's own or ours, told by the files of the frames."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from types import FrameType

_PACKAGE_ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..")) + os.sep
_STDLIB = tuple({os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib")})
_SITE = ("site-packages", "dist-packages")


class Origin(Enum):
    CANDIDATE = "candidate"
    LIBRARY = "library"
    PYTHON = "python"
    OURS = "ours"
    NOBODY = "nobody"
    """Code without a file: made by exec, or frozen into the interpreter."""


@lru_cache(maxsize=4096)
def origin_of(filename: str) -> Origin:
    """Anything that is not known to be installed belongs to the candidate: its file, and whatever it brought."""
    if filename.startswith("<"):
        return Origin.NOBODY
    path = os.path.realpath(filename)
    if path.startswith(_PACKAGE_ROOT):
        return Origin.OURS
    if any(f"{os.sep}{folder}{os.sep}" in path for folder in _SITE):
        return Origin.LIBRARY
    return Origin.PYTHON if path.startswith(_STDLIB) else Origin.CANDIDATE


def library_of(filename: str) -> str:
    """The package a library's file belongs to: `torch`, `triton`."""
    for folder in _SITE:
        _, found, rest = filename.partition(f"{os.sep}{folder}{os.sep}")
        if found:
            return rest.split(os.sep)[0].removesuffix(".py")
    return ""


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
