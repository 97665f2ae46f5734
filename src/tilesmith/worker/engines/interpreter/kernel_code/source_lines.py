"""Which line of the candidate's file is running.

Faults are useful to an author only with the line they happened on. Rewritten kernels keep
the file name and line numbers of their source, so a walk up the frames finds it.
"""

from __future__ import annotations

import linecache
import os
import sys
from dataclasses import dataclass
from types import CodeType, FrameType

import triton

_TRITON_FOLDER = os.path.dirname(triton.__file__) + os.sep
_OUR_FOLDER = os.path.dirname(__file__) + os.sep

_kernel_codes: set[int] = set()
_kept_alive: list[CodeType] = []


@dataclass(frozen=True)
class SourceLine:
    """A numbered line of a file."""

    file: str
    number: int
    text: str

    @classmethod
    def read(cls, file: str, number: int) -> SourceLine:
        """The line as it stands in the file (or in the line cache)."""
        return cls(file, number, linecache.getline(file, number).strip())

    def __str__(self) -> str:
        return f"line {self.number}: {self.text}" if self.text else f"line {self.number}"


def remember_kernel_code(code: CodeType) -> None:
    """Frames running this code count as kernel lines; Triton's own device functions do not."""
    if not code.co_filename.startswith(_TRITON_FOLDER):
        _kernel_codes.add(id(code))
        _kept_alive.append(code)


def is_kernel_code(code: CodeType) -> bool:
    """Whether this code is a rewritten device function of the candidate."""
    return id(code) in _kernel_codes


def is_triton_language(filename: str) -> bool:
    """Whether the file holds Triton's own type checks, the ones that the compiler runs too."""
    return filename.startswith(_TRITON_FOLDER + "language" + os.sep)


def is_library(filename: str) -> bool:
    """Whether the file is installed code or this interpreter, not the candidate."""
    return "site-packages" in filename or filename.startswith((_OUR_FOLDER, "<frozen", sys.base_prefix))


def current_line(frame: FrameType | None = None) -> SourceLine | None:
    """The kernel line that led here, or to the given suspended frame."""
    frame = frame or sys._getframe(1)
    while frame is not None:
        if is_kernel_code(frame.f_code):
            return SourceLine.read(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return None
