"""history.md: what was tried on an operator, as a table that only grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tilesmith.runs.atomic_files import write_atomically


@dataclass(frozen=True)
class HistoryRow:
    """One configuration, and what came of it."""

    configuration: str
    speedups: Mapping[str, float | None]
    """By shape; null where it was not measured."""
    mean: float | None
    """The geometric mean."""
    learned: str


def append_rows(path: Path, operator: str, title: str, rows: Sequence[HistoryRow]) -> None:
    """A table of its own for each call of `op tune`, below those that are there; none where the last one has the
    same rows."""
    if not rows:
        return
    shapes = list(dict.fromkeys(shape for row in rows for shape in row.speedups))
    head = ["configuration", *shapes, "geometric mean", "what was learned"]
    lines = [_line(head), _line(["---"] * len(head))]
    for row in rows:
        numbers = [_number(row.speedups.get(shape)) for shape in shapes]
        lines.append(_line([row.configuration, *numbers, _number(row.mean), row.learned]))
    before = path.read_text(encoding="utf-8") if path.exists() else f"# What was tried on {operator}\n"
    table = "\n\n" + "\n".join(lines) + "\n"
    if not before.endswith(table):
        write_atomically(path.resolve(), before.rstrip("\n") + f"\n\n## {title}" + table)


def _number(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.4f}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "/").replace("\n", " ") for cell in cells) + " |"
