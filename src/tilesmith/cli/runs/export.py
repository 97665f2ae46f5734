"""`tilesmith runs export`: all runs as one table."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import typer

from tilesmith.cli.output_options import FolderOption, JsonOption, command_help, require_ending
from tilesmith.cli.runs.runs_options import chosen_options
from tilesmith.errors import RunError, UsageError
from tilesmith.runs.atomic_files import write_atomically
from tilesmith.runs.compared.table import COLUMNS, table_row, write_csv

_HELP = f"""Write the runs as a table, one row each, newest first. What chooses among runs stands before `export`.

Examples:

    tilesmith runs export --csv runs.csv

    tilesmith runs --task softmax --faster export --csv -

    tilesmith runs export --json

Columns, always these and in this order; what is not known is empty:

{
    '''

'''.join(f"    {name:<17}{meaning}" for name, meaning in COLUMNS.items())
}

Exit code 0; 2: wrong use, or a folder or file that cannot be read or written.
"""


def register(group: typer.Typer) -> None:
    group.command("export", help=command_help(_HELP))(export)


def export(
    context: typer.Context,
    csv_file: str | None = typer.Option(None, "--csv", metavar="FILE", help="File to write; - is stdout."),
    folder: FolderOption = None,
    as_json: JsonOption = False,
) -> None:
    from tilesmith.runs.compared.facts import facts_or_problem
    from tilesmith.runs.listing import list_runs

    asked = chosen_options(context, folder, as_json)
    if csv_file is None and not asked.as_json:
        raise UsageError("name the table: --csv FILE, --csv - for stdout, or --json")
    if csv_file == "-" and asked.as_json:
        raise UsageError("--csv - and --json both want stdout; name a file, or leave one out")
    require_ending(Path(csv_file) if csv_file not in (None, "-") else None, ".csv")
    rows = [table_row(facts_or_problem(run)) for run in list_runs(asked.runs, asked.wanted)]
    if csv_file is not None:
        _write(csv_file, write_csv(tuple(COLUMNS), rows))
    if asked.as_json:
        print(json.dumps(rows, indent=2))
    elif csv_file != "-":
        print(f"{csv_file}: {len(rows)} runs")


def _write(file: str, text: str) -> None:
    if file == "-":
        sys.stdout.write(text)
        return
    try:
        write_atomically(Path(file), text)
    except OSError as error:
        raise RunError(f"{file}: cannot be written: {error.strerror}; see --csv") from None
