"""Turns whatever a task's own code raises into one line: file, line, what happened, the cure."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch

from tilesmith.errors import MachineError, TaskError, TilesmithError

MEMORY_SIGNS = ("out of memory", "can't allocate memory", "not enough memory", "std::bad_alloc")
CUDA_SIGNS = ("not compiled with cuda", "no nvidia driver", "no cuda gpus", "cuda driver")
MESSAGE_LENGTH = 300


@contextmanager
def blamed_on_task(path: Path, doing: str, cure: str = "", others: Sequence[Path] = ()) -> Iterator[None]:
    """Whatever is raised inside is the task's fault, except memory, which is the machine's. `others`: more files
    of the user in which it may happen."""
    try:
        yield
    except TilesmithError:
        raise
    except (Exception, SystemExit) as error:
        where = _place(error, (path, *others)) or str(path)
        if is_out_of_memory(error):
            raise MachineError(f"{where}: out of memory while {doing}; free memory or shrink the task") from error
        cure = _special_cure(error) or cure
        raise TaskError(f"{where}: {doing} failed: {one_line(error)}{'; ' + cure if cure else ''}") from error


def _place(error: BaseException, paths: Sequence[Path]) -> str | None:
    """FILE:LINE of the innermost line of these files that the error passed through."""
    own = {os.path.realpath(path): path for path in reversed(paths)}
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        frames.append((error.filename, error.lineno))
    passed = [(own.get(os.path.realpath(file)), line) for file, line in reversed(frames)]
    return next((f"{path}:{line}" for path, line in passed if path is not None), None)


def one_line(error: BaseException) -> str:
    """`ValueError: what it says`, cut to a line that a terminal shows."""
    text = " ".join(str(error).split())
    short = text if len(text) <= MESSAGE_LENGTH else text[:MESSAGE_LENGTH] + " ..."
    return f"{type(error).__name__}: {short}" if short else type(error).__name__


def is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error).lower() for sign in MEMORY_SIGNS)


def _special_cure(error: BaseException) -> str | None:
    if isinstance(error, ModuleNotFoundError):
        return f"install {error.name} or remove the import"
    if isinstance(error, ImportError):
        return "fix or remove the import"
    if any(sign in str(error).lower() for sign in CUDA_SIGNS):
        return "this machine has no GPU: make tensors on the CPU, tilesmith moves them itself"
    return None
