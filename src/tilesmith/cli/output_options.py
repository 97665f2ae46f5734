"""Where runs are kept, and how a command speaks."""

from __future__ import annotations

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
