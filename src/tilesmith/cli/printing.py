"""Printing for a long job: whoever reads may leave before it ends."""

from __future__ import annotations

import os

from rich.console import Console


def put(line: str, console: Console) -> None:
    """One line, unbroken and without colours. When nobody reads any more, the job goes on without a word."""
    if console.is_terminal:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
        return
    try:
        print(line, file=console.file, flush=True)
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, console.file.fileno())
