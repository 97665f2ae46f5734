"""`tilesmith study`: what runs have to teach, one small file per command, listed here."""

from __future__ import annotations

from importlib import import_module

import typer

from tilesmith.cli.output_options import command_help

HELP = """
Study how kernels are written: seeds by the dozen, phases on and off, one run told as a story.

Examples:

    tilesmith study seeds examples/softmax.py --runs 10

    tilesmith study ablation examples/softmax.py --runs 4

    tilesmith study story last

Every command takes --json. docs/study.md says how to read the results.

Exit code 0: done; 1: done, but no kernel passed; 2: wrong use, or a failure of the author or the machine: the same
command goes on where it stopped.
"""
COMMANDS = ("seeds", "ablation", "story")


def register(app: typer.Typer) -> None:
    group = typer.Typer(help=command_help(HELP), no_args_is_help=True, rich_markup_mode="rich")
    for command in COMMANDS:
        import_module(f"tilesmith.cli.study.{command}").register(group)
    app.add_typer(group, name="study")
