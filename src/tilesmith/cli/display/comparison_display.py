"""Two runs, or two suites, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tilesmith.runs.compared.comparison import RunComparison
from tilesmith.runs.compared.comparison_text import comparison_rows, conclusions, setting_rows
from tilesmith.runs.event_text import LONGEST_ENDING, one_line
from tilesmith.suite.comparison import SuiteComparison
from tilesmith.suite.comparison_text import summary_lines, task_rows

_STYLES = {"won": "green", "lost": "red", "unknown": "dim"}


def show_comparison(found: RunComparison, console: Console) -> None:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    for label, first, second in comparison_rows(found):
        table.add_row(label, Text(one_line(first)), Text(one_line(second)))
    console.print(table)
    _show_lines(found.notes, conclusions(found), console)


def show_suite_comparison(found: SuiteComparison, console: Console) -> None:
    """The tasks that were won and lost, the settings that differ, and the answer."""
    _show_table(("", "task", "first", "second", "ratio"), list(task_rows(found)), console)
    _show_table(("setting", "first", "second"), list(setting_rows(found.settings)), console)
    names = (f"{place}: {one_line(name)}" for place, name in (("first", found.first), ("second", found.second)))
    _show_lines(found.notes, [*names, *summary_lines(found)], console)


def _show_table(header: Sequence[str], rows: Sequence[Sequence[str]], console: Console) -> None:
    if rows:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for name in header:
            table.add_column(name, justify="right" if name == "ratio" else "left")
        for first, *cells in rows:
            table.add_row(Text(first, style=_STYLES.get(first, "")), *map(Text, cells))
        console.print(table)


def _show_lines(notes: Iterable[str], lines: Iterable[str], console: Console) -> None:
    for note in notes:
        console.print(Text(f"note: {one_line(note, LONGEST_ENDING)}", style="yellow"), soft_wrap=True)
    for line in lines:
        console.print(Text(line), soft_wrap=True)
