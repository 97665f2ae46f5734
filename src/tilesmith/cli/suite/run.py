"""`tilesmith suite PLACE...`: forge many tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tilesmith.cli.forging.forge_options import SETTINGS, forge_options
from tilesmith.cli.output_options import JsonOption, command_help
from tilesmith.cli.suite.cluster_options import GpuKindOption, OnOption, RayAddressOption
from tilesmith.cli.task_options import ModeOption, PathOption
from tilesmith.errors import UsageError

_HELP = """
Forge every task of folders, files and patterns, and make one page of what came of them.

A KernelBench checkout works as it is. Every task is a run of its own in OUT/runs; suite.json, suite.csv and
index.html sum them up. A bad task never stops the rest. Examples:

    tilesmith suite examples --effort quick

    tilesmith suite KernelBench/KernelBench --only level1 --range 1-20 --out suites/level1

    tilesmith suite tasks --model gpt-5 --max-cost 20 --jobs 4 --out suites/gpt-5

    tilesmith suite --resume suites/gpt-5 --max-cost 40

    tilesmith suite tasks --on ray --gpu-kind H200 --out suites/cluster

The same command with the same --out goes on where it stopped. Limits hold for the whole suite.

Exit code 0: every task has an outcome; 1: a limit came first; 2: wrong use, or the author or this machine failed.
"""
_WHICH = "Which tasks"

OnlyOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Part of a name, or a pattern such as level1/*softmax*; again for more.", rich_help_panel=_WHICH
    ),
]
RangeOption = Annotated[
    str | None, typer.Option("--range", help="FROM-TO: places in the list, from 1.", rich_help_panel=_WHICH)
]
FirstOption = Annotated[int | None, typer.Option(help="So many of what is left.", rich_help_panel=_WHICH)]
ShuffleOption = Annotated[
    int | None,
    typer.Option(metavar="SEED", help="In a random order, not cheap ones first.", rich_help_panel=_WHICH),
]
OutOption = Annotated[Path | None, typer.Option(help="Folder of the suite; suites/DATE-NAME.", show_default=False)]
ResumeOption = Annotated[Path | None, typer.Option(metavar="DIR", help="Go on with the suite in this folder.")]
JobsOption = Annotated[int | None, typer.Option(help="Tasks at once; as many as the machine has cores for.")]


def register(group: typer.Typer) -> None:
    group.command("run", help=command_help(_HELP))(run)


@forge_options()
def run(
    context: typer.Context,
    places: Annotated[
        list[str] | None, typer.Argument(metavar="PLACE...", help="Folder, file or pattern; MODULE:CLASS.")
    ] = None,
    path: PathOption = None,
    train: ModeOption = None,
    out: OutOption = None,
    resume: ResumeOption = None,
    retry_errors: bool = typer.Option(False, help="Try tasks again whose outcome is an error."),
    jobs: JobsOption = None,
    on: OnOption = "here",
    ray_address: RayAddressOption = None,
    gpu_kind: GpuKindOption = None,
    max_tokens: int | None = typer.Option(None, help="Of all tasks together.", rich_help_panel=SETTINGS),
    max_cost: float | None = typer.Option(None, help="Dollars, all tasks together.", rich_help_panel=SETTINGS),
    max_minutes: float | None = typer.Option(None, help="Of all sessions together.", rich_help_panel=SETTINGS),
    only: OnlyOption = None,
    range_: RangeOption = None,
    first: FirstOption = None,
    shuffle: ShuffleOption = None,
    as_json: JsonOption = False,
    **_: Any,
) -> None:
    from tilesmith.cli.suite.suite_runs import Session, choose_cluster, resume_suite, start_suite
    from tilesmith.suite.records import SuiteLimits, TaskSelection

    cluster = choose_cluster(on, ray_address, gpu_kind)
    limits = SuiteLimits(max_tokens, max_cost, max_minutes)
    session = Session(limits, jobs, ("error",) if retry_errors else (), cluster, as_json)
    if resume is not None:
        _refuse_other_options(context)
        raise typer.Exit(resume_suite(resume, session))
    selection = TaskSelection(tuple(only or ()), range_, shuffle, first)
    options = {one: value for one, value in context.params.items() if value is not None and one not in _LIMITS}
    raise typer.Exit(start_suite(places or [], tuple(map(str, path or ())), selection, out, options, session))


_LIMITS = ("max_tokens", "max_cost", "max_minutes")
_CHANGEABLE_ON_RESUME = (
    *("resume", "retry_errors", "jobs", "on", "ray_address", "gpu_kind", "as_json"),
    *_LIMITS,
)


def _refuse_other_options(context: typer.Context) -> None:
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE" and name not in _CHANGEABLE_ON_RESUME:
            shown = "PLACE" if name == "places" else f"--{name.strip('_').replace('_', '-')}"
            raise UsageError(f"--resume takes everything from the suite it names; leave out {shown}")
