"""`tilesmith runs`: what was forged here, one small file per command, listed here."""

from __future__ import annotations

import json
from importlib import import_module

import typer

from tilesmith.cli.output_options import FolderOption, JsonOption, command_help, existing_folder
from tilesmith.cli.runs.runs_options import RunsOptions, open_console
from tilesmith.errors import UsageError

HELP = """List the runs of `tilesmith forge`, newest first.

Examples:

    tilesmith runs

    tilesmith runs --task softmax --status finished --faster

    tilesmith runs --model gpt-5 --min-speedup 1.2 --since 2026-05-01 --json

    tilesmith runs --verdict cheating --search "gru replay"

    tilesmith runs show last

    tilesmith runs compare 2026-05-01-softmax-1 last

    tilesmith runs --task softmax export --csv runs.csv

Exit code 0, also when there is none; 2: wrong use, or the folder cannot be read.
"""
COMMANDS = ("show", "compare", "export")


def register(app: typer.Typer) -> None:
    group = typer.Typer(help=command_help(HELP), rich_markup_mode="rich")
    group.callback(invoke_without_command=True)(runs)
    for command in COMMANDS:
        import_module(f"tilesmith.cli.runs.{command}").register(group)
    app.add_typer(group, name="runs", help=command_help(HELP))


def runs(
    context: typer.Context,
    task: str | None = typer.Option(None, help="Part of the task's name, or a pattern such as '3?_GRU*'."),
    status: str | None = typer.Option(None, help="running, interrupted, stopped, finished or damaged."),
    author: str | None = typer.Option(None, help="Part of the author's name."),
    model: str | None = typer.Option(None, help="Part of the LLM's name, or a pattern."),
    since: str | None = typer.Option(None, metavar="YYYY-MM-DD", help="Begun on this day (UTC) or later."),
    verdict: str | None = typer.Option(None, help="Only those with a kernel of this verdict, such as passed."),
    min_speedup: float | None = typer.Option(None, help="Only those whose best kernel is so many times as fast."),
    faster: bool = typer.Option(False, "--faster", help="Only those whose kernel beats every baseline."),
    search: str | None = typer.Option(
        None, metavar="WORDS", help="Each word is in the run's name, task, author, status, verdicts or end."
    ),
    folder: FolderOption = None,
    as_json: JsonOption = False,
) -> None:
    from tilesmith.runs.listing import list_runs, listed_document
    from tilesmith.runs.run_filter import RunFilter

    wanted = RunFilter(task, status, author, since, faster, verdict, min_speedup, model, search)
    parent = existing_folder(folder)
    if context.invoked_subcommand is not None:
        if wanted != RunFilter() and context.invoked_subcommand != "export":
            raise UsageError(f"{context.invoked_subcommand} takes runs by name; leave out what chooses among them")
        context.obj = RunsOptions(parent, as_json, wanted)
        return
    found = list_runs(parent, wanted)
    if as_json:
        print(json.dumps([listed_document(run) for run in found], indent=2))
    elif found:
        from tilesmith.cli.display.run_display import show_runs

        show_runs(found, open_console())
    else:
        told = "fits: ask for less" if wanted != RunFilter() else "yet: `tilesmith forge TASK` makes one"
        print(f"no run in {parent} {told}")
