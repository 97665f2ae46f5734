"""`tilesmith report RUN`: a run as one page to look at, keep and send."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path

import typer

from tilesmith.cli.output_options import (
    FolderOption,
    JsonOption,
    RunArgument,
    command_help,
    existing_folder,
    require_ending,
)

_HELP = """
Write the page of a run: how much faster, how accurate, the kernel, every attempt with its diff, and plots.

One HTML file that needs no network, for phones, desks and paper, light and dark. Every forge writes it at its end;
this makes it again, also while a run goes on or after it broke off. Examples:

    tilesmith report last --open

    tilesmith report 2026-05-01-softmax-1 --out softmax.html

    tilesmith report last --json | jq -r .report

RUN is a folder, the name of one in the runs folder, the start of such a name, or `last`.

Exit code 0; 2: there is no such run, or the page cannot be written.
"""


def register(app: typer.Typer) -> None:
    app.command(help=command_help(_HELP))(report)


def report(
    run: RunArgument,
    out: Path | None = typer.Option(None, metavar="FILE", help="The page; report.html in the run's folder."),
    show: bool = typer.Option(False, "--open", help="Open the page in a browser."),
    folder: FolderOption = None,
    as_json: JsonOption = False,
) -> None:
    from tilesmith.report import REPORT_NAME, write_run_report
    from tilesmith.runs.listing import find_run

    require_ending(out, ".html")
    path = find_run(existing_folder(folder), run)
    page = out or path / REPORT_NAME
    view = write_run_report(path, page)
    if as_json:
        best = view.kernel.number if view.kernel else None
        document = {"run": str(path), "report": str(page), "attempts": len(view.attempts), "best": best}
        print(json.dumps(document | {"told": view.headline.told, "problems": list(view.problems)}, indent=2))
    else:
        print(page)
    if show:
        webbrowser.open(page.resolve().as_uri())
