"""`tilesmith study story RUN`: one run as a case study."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from tilesmith.cli.output_options import JsonOption, RunArgument, command_help, existing_folder

_HELP = """Tell a run as a case study in Markdown: seeds, analysis, what changed, what it gained, stages, cost.

Examples:

    tilesmith study story last

    tilesmith study story 2026-05-01-39_GRU-1 > gru.md

RUN is a folder, the name of one in the runs folder, the start of such a name, or `last`.

Exit code 0; 2: there is no such run, or it is damaged.
"""


def register(group: typer.Typer) -> None:
    group.command("story", help=command_help(_HELP))(story)


def story(
    run: RunArgument,
    folder: Path | None = typer.Option(
        None, "--runs", "--folder", metavar="DIR", help="Folder of runs; TILESMITH_RUNS, else ./runs."
    ),
    as_json: JsonOption = False,
) -> None:
    from tilesmith.runs.journal import read_events
    from tilesmith.runs.listing import find_run, read_run, require_whole
    from tilesmith.runs.summary import summarize
    from tilesmith.study.story import headline, lineage, tell_story

    path = find_run(existing_folder(folder), run)
    task, events = require_whole(read_run(path)).task, read_events(path / "events.jsonl")
    if not as_json:
        print(tell_story(events), end="")
        return
    summary = summarize(events)
    line = [one.candidate.number for one in lineage(summary)]
    told = {"headline": headline(summary), "lineage": line, "markdown": tell_story(events)}
    print(json.dumps({"run": path.name, "task": task, **told}, indent=2))
