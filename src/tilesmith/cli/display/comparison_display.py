"""Two runs side by side, as a table of three columns."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tilesmith.runs.compared.comparison import RunComparison
from tilesmith.runs.compared.comparison_text import comparison_rows, conclusions
from tilesmith.runs.event_text import LONGEST_ENDING, one_line


def show_comparison(found: RunComparison, console: Console) -> None:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    for label, first, second in comparison_rows(found):
        table.add_row(label, Text(one_line(first)), Text(one_line(second)))
    console.print(table)
    for note in found.notes:
        console.print(Text(f"note: {one_line(note, LONGEST_ENDING)}", style="yellow"), soft_wrap=True)
    for line in conclusions(found):
        console.print(Text(line), soft_wrap=True)
