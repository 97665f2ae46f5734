"""Two suites side by side: the answer, the settings that differ, and the tasks that were won and lost."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tilesmith.runs.event_text import LONGEST_ENDING, one_line
from tilesmith.suite.comparison import SuiteComparison
from tilesmith.suite.comparison_text import setting_rows, summary_lines, task_rows

_STYLES = {"won": "green", "lost": "red", "unknown": "dim"}


def show_suite_comparison(found: SuiteComparison, console: Console) -> None:
    rows = list(task_rows(found))
    if rows:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for name in ("", "task", "first", "second", "ratio"):
            table.add_column(name, justify="right" if name == "ratio" else "left")
        for standing, *cells in rows:
            table.add_row(Text(standing, style=_STYLES[standing]), *map(Text, cells))
        console.print(table)
    settings = list(setting_rows(found))
    if settings:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for name in ("setting", "first", "second"):
            table.add_column(name)
        for setting in settings:
            table.add_row(*map(Text, setting))
        console.print(table)
    for note in found.notes:
        console.print(Text(f"note: {one_line(note, LONGEST_ENDING)}", style="yellow"), soft_wrap=True)
    for name, suite in (("first", found.first), ("second", found.second)):
        console.print(Text(f"{name}: {one_line(suite)}"), soft_wrap=True)
    for line in summary_lines(found):
        console.print(Text(line), soft_wrap=True)
