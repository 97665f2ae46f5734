"""What the studies that make runs share: the author, the judge, the folder, and how they tell what goes on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from tilesmith.cli.forging.forge_options import forge_options
from tilesmith.cli.output_options import print_line

if TYPE_CHECKING:
    from tilesmith.runs.summary import RunSummary
    from tilesmith.study.experiment import PlannedRun

study_options = forge_options("author", "model", "provider", "base_url", "device", "target", "timeout")
"""Who writes and how it is judged; how much is tried is what is studied."""
ReplayOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Repeat the runs of the task in this folder: no network.")
]
FolderOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Folder the runs are made in; TILESMITH_RUNS, else ./runs.")
]


def make_runs(plans: Iterable[PlannedRun], folder: Path) -> Iterator[tuple[str, RunSummary]]:
    """The name and the summary of each run once it has ended; what happens meanwhile is told on stderr."""
    from tilesmith.runs.journal import read_events
    from tilesmith.runs.summary import summarize
    from tilesmith.study.experiment import JudgedEquipment, carry_out

    tell = partial(print_line, console=Console(stderr=True))
    with contextlib.closing(JudgedEquipment(tell)) as equipment:
        for path in carry_out(plans, folder, equipment, tell):
            yield path.name, summarize(read_events(path / "events.jsonl"))
