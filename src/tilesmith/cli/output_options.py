"""Where runs are kept, how a command speaks, and how its help is laid out."""

from __future__ import annotations

import inspect
import os
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "TILESMITH_RUNS"


@dataclass(frozen=True)
class OutputOptions:
    """The folder of runs, and whether stdout is for a program."""

    runs: Path
    as_json: bool


def runs_folder(chosen: Path | None) -> Path:
    return chosen or Path(os.environ.get(VARIABLE) or "runs")


def command_help(text: str) -> str:
    """Each paragraph as one line, for the terminal to wrap; examples, which are indented, as they are."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(one if one.startswith(" ") else " ".join(one.splitlines()) for one in paragraphs)
