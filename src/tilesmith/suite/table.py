"""`suite.csv`: a suite as a table for other programs, a row for each job with an outcome, and columns that stay."""

from __future__ import annotations

from tilesmith.runs.compared.table import SPEEDUP_COLUMNS, Cell, speedup_cells, write_csv
from tilesmith.suite.records import Row, Suite

COLUMNS = {
    "key": "name of the job in the suite",
    "task": "name of the task",
    "level": "folder of the task within the suite",
    "sample": "number of the kernel among those for the task, empty where there is one",
    "outcome": "passed, kept, failed, error",
    "verdict": "of the best kernel, or of the last one where none passed; empty where none was judged",
    "score": "speedup over the best baseline, empty where nothing was timed",
    **SPEEDUP_COLUMNS,
    "error_ratio": "the kernel's error over PyTorch's own",
    "device": "the machine",
    "attempts": "kernels that were judged",
    "tokens": "of all calls",
    "dollars": "of all calls, empty where a price is unknown",
    "seconds": "from the start of the job to its answer",
    "run": "name of its folder in runs/",
    "why": "how it ended",
}
"""Every column and what it holds. New ones are added at the end."""


def suite_csv(suite: Suite) -> str:
    return write_csv(tuple(COLUMNS), map(_cells, suite.rows))


def _cells(row: Row) -> dict[str, Cell]:
    cells: dict[str, Cell] = {name: getattr(row, name) for name in COLUMNS if hasattr(row, name)}
    return cells | speedup_cells(row.speedup)
