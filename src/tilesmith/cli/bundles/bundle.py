"""`tilesmith bundle RUN`: the claim of a run in one file, with all that is needed to check it."""

from __future__ import annotations

import contextlib
import json
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
from tilesmith.errors import RunError
from tilesmith.records import to_json

_EXAMPLE = """
Put a finished run's kernel, its task and its claim into one file that anybody can check.

It holds the kernel, the task with what it imports of your own, the verdict with raw times and environment, how it
was judged, and the run's journal, with the sha256 of each. Examples:

    tilesmith bundle last

    tilesmith bundle 2026-05-01-softmax-1 --out claim.tilesmith.zip

RUN is a folder, the name of one in the runs folder, the start of such a name, or `last`. Whoever gets the file runs
`tilesmith replay` on it. The journal has the replies of the model and names of your folders.

Exit code 0: the bundle is written; 2: there is no such run, or it is not finished, or it has no winner.
"""


def register(app: typer.Typer) -> None:
    app.command(help=command_help(_EXAMPLE))(bundle)


def bundle(
    run: RunArgument,
    out: Path | None = typer.Option(None, metavar="FILE", help="Where to write it; RUN.tilesmith.zip here."),
    folder: FolderOption = None,
    as_json: JsonOption = False,
) -> None:
    from tilesmith.report import REPORT_NAME, write_run_report
    from tilesmith.runs.bundling.bundles import ENDING, make_bundle
    from tilesmith.runs.bundling.claims import speeds_text
    from tilesmith.runs.listing import find_run, read_run

    require_ending(out, ".zip")
    path = find_run(existing_folder(folder), run)
    if read_run(path).status == "finished" and not (path / REPORT_NAME).exists():
        with contextlib.suppress(RunError):  # of a folder that cannot be written to
            write_run_report(path)
    made = make_bundle(path, out or Path(f"{path.resolve().name}{ENDING}"))
    if as_json:
        print(json.dumps({"bundle": str(made.path)} | to_json(made.manifest), indent=2))
        return
    claim = made.manifest.claim
    print(f"{made.path}: {made.manifest.kernel} of run {made.manifest.run} and what its claim rests on")
    print(
        f"claims: {claim.verdict} on {claim.device}; {speeds_text(claim.speedup) or 'no speed, nothing was timed'}"
    )
    print(f"check it anywhere:  tilesmith replay {made.path}")
