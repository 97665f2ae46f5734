"""What the commands of `tilesmith runs` share: the folder, the filter, and how they speak."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tilesmith.cli.output_options import OutputOptions, existing_folder

if TYPE_CHECKING:
    from rich.console import Console

    from tilesmith.runs.run_filter import RunFilter

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


def open_console(width_of_a_pipe: int = _WIDTH_OF_A_PIPE) -> Console:
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = width_of_a_pipe
    return console
