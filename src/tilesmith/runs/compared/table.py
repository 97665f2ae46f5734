"""Runs as a table for other programs: one row each, and columns that stay."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

from tilesmith.records import BASELINES, Speedup
from tilesmith.runs.compared.facts import RunFacts
from tilesmith.runs.event_text import LONGEST_ENDING, one_line

Cell = str | int | float | bool | None
SPEEDUP_COLUMNS = {
    f"{name}{ending}": f"speedup over {name}{meaning}"
    for name in BASELINES
    for ending, meaning in (("_speedup", ""), ("_low", ", lower end"), ("_high", ", upper end"))
}
COLUMNS = {
    "run": "name of its folder",
    "task": "name of the task",
    "author": "who wrote the kernels",
    "model": "the LLM, empty for the playbook",
    "created": "when it began, UTC",
    "status": "running, stopped, finished, interrupted, damaged",
    "device": "the machine",
    "attempts": "kernels that were judged",
    "passed": "those that passed",
    "best": "number of the best kernel",
    "score": "its speedup over its best baseline",
    "faster": "whether it beats every baseline",
    "candidate_ms": "its median time",
    **{name: f"its {meaning}" for name, meaning in SPEEDUP_COLUMNS.items()},
    "calls": "requests to the author",
    "input_tokens": "of all calls",
    "output_tokens": "of all calls",
    "dollars": "of all calls, empty where a price is unknown",
    "busy_s": "seconds of calls and verdicts",
    "why": "how it ended, or what is wrong with it",
    "path": "its folder",
}
"""Every column and what it holds. New ones are added at the end."""
_FORMULA = ("=", "+", "-", "@")
"""What a spreadsheet would take for a formula when a text begins with it."""


def table_row(facts: RunFacts) -> dict[str, Cell]:
    """The cells of one run by column."""
    cells: dict[str, Cell] = {name: getattr(facts, name) for name in COLUMNS if hasattr(facts, name)}
    cells |= speedup_cells(facts.speedup)
    if facts.spent is not None:
        usage, calls = facts.spent.usage, facts.spent.calls
        cells |= {"calls": calls, "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        cells |= {"dollars": None if usage.dollars is None else round(usage.dollars, 6)}
    return {name: cells.get(name) for name in COLUMNS}


def speedup_cells(speedups: Mapping[str, Speedup]) -> dict[str, Cell]:
    """Those of the `SPEEDUP_COLUMNS`, empty where a baseline was not measured."""
    gains = (speedups.get(name) for name in BASELINES)
    values = (one for gain in gains for one in ((gain.value, gain.low, gain.high) if gain else (None,) * 3))
    return dict(zip(SPEEDUP_COLUMNS, values, strict=True))


def write_csv(columns: Sequence[str], rows: Iterable[dict[str, Cell]]) -> str:
    """The table as text; a cell is one line, and none is a formula."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _cell(row[name]) for name in columns})
    return text.getvalue()


def _cell(value: Cell) -> Cell:
    if not isinstance(value, str):
        return "true" if value is True else "false" if value is False else value
    line = one_line(value, LONGEST_ENDING)  # whole paths and reasons
    return f"'{line}" if line.startswith(_FORMULA) else line
