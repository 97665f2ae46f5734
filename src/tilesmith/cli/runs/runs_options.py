"""What the commands of `tilesmith runs` share: the folder, the filter, and how they speak."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilesmith.cli.output_options import VARIABLE, OutputOptions, runs_folder
from tilesmith.errors import RunError

if TYPE_CHECKING:
    from rich.console import Console

    from tilesmith.runs.run_filter import RunFilter

FolderOption = Annotated[
    Path | None, typer.Option("--runs", metavar="DIR", help="Folder of runs; TILESMITH_RUNS, else ./runs.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, all else on stderr.")]
_WIDTH_OF_A_PIPE = 1000
"""Columns where nobody looks: a program that reads a pipe wants whole lines."""


@dataclass(frozen=True)
class RunsOptions(OutputOptions):
    """What was said before the name of the command."""

    wanted: RunFilter


def chosen_options(context: typer.Context, folder: Path | None, as_json: bool) -> RunsOptions:
    """What was said before and after the name of the command."""
    asked: RunsOptions = context.obj
    runs = existing_folder(folder) if folder else asked.runs
    return replace(asked, runs=runs, as_json=as_json or asked.as_json)


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


def open_console(width_of_a_pipe: int = _WIDTH_OF_A_PIPE) -> Console:
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = width_of_a_pipe
    return console
