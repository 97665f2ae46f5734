"""Where runs are kept, how a command speaks, and how its help is laid out."""

from __future__ import annotations

import contextlib
import inspect
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tilesmith.errors import RunError, UsageError

VARIABLE = "TILESMITH_RUNS"
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, all else on stderr.")]
FolderOption = Annotated[
    Path | None, typer.Option("--runs", metavar="DIR", help="Folder of runs; TILESMITH_RUNS, else ./runs.")
]
RUN_HELP = "Folder, name, start of a name, or last."
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help=RUN_HELP)]


@dataclass(frozen=True)
class OutputOptions:
    """The folder of runs, and whether stdout is for a program."""

    runs: Path
    as_json: bool


def runs_folder(chosen: Path | None) -> Path:
    return chosen or Path(os.environ.get(VARIABLE) or "runs")


def existing_folder(given: Path | None) -> Path:
    """The folder of runs; one that was named must be there."""
    folder = runs_folder(given)
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder}: not a folder of runs; see --runs")
    if given is not None and not folder.exists():
        raise RunError(f"{folder}: no such folder; see --runs")
    if os.environ.get(VARIABLE) and not folder.exists():
        raise RunError(f"{folder}: no such folder; {VARIABLE} names it: make it, or name another")
    return folder


def require_ending(file: Path | None, ending: str) -> None:
    """A slip of the pen must not replace a kernel, a task or a journal."""
    if file is not None and file.suffix.lower() != ending:
        raise UsageError(f"{file}: use a name that ends in {ending}, so that no file of another kind is replaced")


def command_help(text: str) -> str:
    """Each paragraph as one line, for the terminal to wrap; examples, which are indented, as they are."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(one if one.startswith(" ") else " ".join(one.splitlines()) for one in paragraphs)


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
