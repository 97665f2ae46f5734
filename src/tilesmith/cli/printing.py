"""Printing for a long job: whoever reads may leave before it ends."""

from __future__ import annotations

import contextlib
import os

from rich.console import Console


def print_line(line: str, console: Console) -> None:
    """One line, unbroken and without colors. When nobody reads any more, the job goes on without a word."""
    if console.is_terminal:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
        return
    try:
        print(line, file=console.file, flush=True)
    except OSError:
        with contextlib.suppress(OSError):  # else Python complains about the same pipe when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), console.file.fileno())
