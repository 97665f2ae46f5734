"""`tilesmith op`: the operator workshop, one small file per command, listed here."""

from __future__ import annotations

from importlib import import_module

import typer

from tilesmith.cli.output_options import command_help

HELP = """
Make an operator: a Triton kernel, its PyTorch reference and the tests of both, four files with one interface.

Examples:

    tilesmith op new bias_add --from bias_add.py

    tilesmith op check bias_add

    tilesmith op tune bias_add

    tilesmith op export bias_add --to flaggems --out F

    tilesmith op import DOWNLOAD

Every command takes --json. docs/operators.md tells the whole story.

Exit code 0: right, and fast enough or not measured; 1: not; 2: wrong use, or the project is broken; 3: PyTorch is
kept, because the author has no kernel.
"""
COMMANDS = ("new", "check", "tune", "transfer")


def register(app: typer.Typer) -> None:
    group = typer.Typer(help=command_help(HELP), no_args_is_help=True, rich_markup_mode="rich")
    for command in COMMANDS:
        import_module(f"tilesmith.cli.op.{command}").register(group)
    app.add_typer(group, name="op")
