"""`tilesmith runs compare A B`: two runs side by side."""

from __future__ import annotations

import json

import typer

from tilesmith.cli.output_options import RUN_HELP, FolderOption, JsonOption, command_help
from tilesmith.cli.runs.runs_options import chosen_options, open_console

_HELP = """Compare two runs: what they were asked, what came of them, what they cost.

Examples:

    tilesmith runs compare 2026-05-01-softmax-1 2026-05-02-softmax-1

    tilesmith runs compare 2026-05-01 last --json

Speedups have 95 % confidence intervals; where those of two runs overlap, neither is known to be larger.

Exit code 0; 2: there is no such run, or it is damaged.
"""


def register(group: typer.Typer) -> None:
    group.command("compare", help=command_help(_HELP))(compare)


def compare(
    context: typer.Context,
    first: str = typer.Argument(metavar="A", help=RUN_HELP),
    second: str = typer.Argument(metavar="B", help=RUN_HELP),
    folder: FolderOption = None,
    as_json: JsonOption = False,
) -> None:
    from tilesmith.records import to_json
    from tilesmith.runs.compared.comparison import compare_runs
    from tilesmith.runs.listing import find_run

    asked = chosen_options(context, folder, as_json)
    found = compare_runs(find_run(asked.runs, first), find_run(asked.runs, second))
    if asked.as_json:
        print(json.dumps(to_json(found), indent=2))
    else:
        from tilesmith.cli.display.comparison_display import show_comparison

        show_comparison(found, open_console())
