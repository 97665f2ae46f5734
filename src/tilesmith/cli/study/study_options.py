"""What the studies that make runs share: the author, the judge, the folder, and how they tell what goes on."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from tilesmith.authors.author_choice import AUTHORS, AuthorChoice, choose_author
from tilesmith.cli.output_options import print_line
from tilesmith.config import CheckConfig
from tilesmith.llm.endpoint_choice import LlmOptions

if TYPE_CHECKING:
    from tilesmith.runs.summary import RunSummary
    from tilesmith.study.experiment import PlannedRun

CHECK = CheckConfig()
AuthorOption = Annotated[str, typer.Option(help=f"{', '.join(AUTHORS)}.")]
ModelOption = Annotated[str | None, typer.Option(help="Model, or PROVIDER/MODEL; TILESMITH_MODEL.")]
ProviderOption = Annotated[str | None, typer.Option(help="Whose model it is.")]
BaseUrlOption = Annotated[str | None, typer.Option(help="Any OpenAI-compatible endpoint.")]
ReplayOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Repeat the runs of the task in this folder: no network.")
]
FolderOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Folder the runs are made in; TILESMITH_RUNS, else ./runs.")
]
DeviceOption = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
TargetOption = Annotated[str, typer.Option(help="GPU to compile for without one.")]
TimeoutOption = Annotated[float, typer.Option(help="Seconds one step of a kernel may take.")]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, all else on stderr.")]


def chosen_author(author: str, model: str | None, provider: str | None, base_url: str | None) -> AuthorChoice:
    return choose_author(author, LlmOptions(model, provider, base_url), os.environ)


def make_runs(plans: Iterable[PlannedRun], folder: Path) -> Iterator[tuple[str, RunSummary]]:
    """The name and the summary of each run once it has ended; what happens meanwhile is told on stderr."""
    from tilesmith.runs.journal import read_events
    from tilesmith.runs.summary import summarize
    from tilesmith.study.experiment import JudgedEquipment, carry_out

    tell = partial(print_line, console=Console(stderr=True))
    with contextlib.closing(JudgedEquipment(tell)) as equipment:
        for path in carry_out(plans, folder, equipment, tell):
            yield path.name, summarize(read_events(path / "events.jsonl"))
