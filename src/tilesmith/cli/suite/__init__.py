"""`tilesmith suite`: many tasks, and two suites compared."""

from __future__ import annotations

from typing import Any

import typer

from tilesmith.cli.output_options import command_help
from tilesmith.cli.suite import compare, run

HELP = """
Forge many tasks, resume where it stopped, and see all of it on one page; compare two suites.

`tilesmith suite PLACE...` is short for `tilesmith suite run PLACE...`, whose help has the options. Both commands
take --json. docs/suite.md says what the numbers mean. Examples:

    tilesmith suite examples

    tilesmith suite KernelBench/KernelBench --only level1 --out suites/level1

    tilesmith suite compare suites/level1 suites/level1-gpt

Exit code 0: every task has an outcome; 1: a limit came first; 2: wrong use, or the author or this machine failed.
"""


class _RunUnlessNamed(typer.core.TyperGroup):
    """What is not the name of a command is a place with tasks, or an option of `run`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args = ["run", *args]
        return super().parse_args(ctx, args)


def register(app: typer.Typer) -> None:
    group = typer.Typer(cls=_RunUnlessNamed, help=command_help(HELP), no_args_is_help=True, rich_markup_mode="rich")
    for command in (run, compare):
        command.register(group)
    app.add_typer(group, name="suite")
