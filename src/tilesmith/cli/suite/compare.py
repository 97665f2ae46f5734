"""`tilesmith suite compare A B`: which tasks won, which lost, and whether it is more than chance."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import typer
from rich.console import Console

from tilesmith.cli.output_options import JsonOption, command_help

_HELP = """
Compare two suites: which tasks the second does better and worse, by how much, and whether that is more than chance.

Examples:

    tilesmith suite compare suites/playbook suites/gpt-5

    tilesmith suite compare suites/before suites/after --json | jq .geometric_mean

docs/suite.md says what is compared and how it is tested.

Exit code 0; 2: one of them is no suite, or is damaged.
"""


def register(group: typer.Typer) -> None:
    group.command("compare", help=command_help(_HELP))(compare)


def compare(
    first: Path = typer.Argument(metavar="A", help="Folder of a suite."),
    second: Path = typer.Argument(metavar="B", help="Folder of another."),
    as_json: JsonOption = False,
) -> None:
    from tilesmith.cli.display.comparison_display import show_suite_comparison
    from tilesmith.records import to_json
    from tilesmith.suite.comparison import compare_suites
    from tilesmith.suite.document import read_suite

    found = compare_suites(read_suite(first), read_suite(second))
    found = replace(found, first=str(first), second=str(second))  # suites of the same tasks have the same name
    if as_json:
        print(json.dumps(to_json(found), indent=2))
    else:
        show_suite_comparison(found, Console())
