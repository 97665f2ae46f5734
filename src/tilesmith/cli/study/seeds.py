"""`tilesmith study seeds TASK`: how good first versions are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from tilesmith.cli.forging.forge_options import author_of
from tilesmith.cli.output_options import JsonOption, command_help, runs_folder
from tilesmith.cli.study.study_options import FolderOption, ReplayOption, make_runs, study_options
from tilesmith.cli.task_options import InputsOption, PathOption, TaskArgument

_HELP = """
Write many seeds for one task, judge each, and show how their speedups are distributed.

Nothing is repaired or improved. Each seed is a run in the runs folder; those that are there already count, so the
same command goes on after a stop, and a larger --runs adds to it. The playbook writes its next variant each time.

Examples:

    tilesmith study seeds examples/softmax.py --runs 5 --author playbook

    tilesmith study seeds TASK --runs 10 --model gpt-5 --plot seeds.png

    tilesmith study seeds TASK --runs 10 --replay recorded --folder again

Exit code 0: some seed passed; 1: none did; 2: wrong use, or the author or this machine failed; 3: PyTorch is kept,
because the playbook has no recipe for the task.
"""


def register(group: typer.Typer) -> None:
    group.command("seeds", help=command_help(_HELP))(seeds)


@study_options
def seeds(
    task: TaskArgument,
    runs: int = typer.Option(10, help="How many seeds there shall be."),
    plot: Path | None = typer.Option(
        None, metavar="FILE", help="Picture, .svg or .png; in the folder of runs by default."
    ),
    replay: ReplayOption = None,
    inputs: InputsOption = None,
    path: PathOption = None,
    folder: FolderOption = None,
    as_json: JsonOption = False,
    **options: Any,
) -> None:
    from tilesmith.config import CheckConfig
    from tilesmith.forge.run_specification import RunSpecification
    from tilesmith.records import Verdict, to_json
    from tilesmith.study.experiment import recorded_runs
    from tilesmith.study.plot import check_plot_file, plot_name, plot_seeds
    from tilesmith.study.seeds import SETTINGS, plan_seeds, seeds_markdown, study_seeds
    from tilesmith.tasks.user_code.task_name import TaskName

    named = TaskName(task, inputs, tuple(map(str, path or ())))
    if plot is not None:
        check_plot_file(plot)
    check = CheckConfig(device=options["device"], target=options["target"], timeout_s=options["timeout"])
    specification = RunSpecification(named, author_of(options), check, SETTINGS)
    plans = plan_seeds(specification, runs, recorded_runs(replay, named) if replay else None)
    parent = runs_folder(folder)
    study = study_seeds(plans[0].specification.author.name, list(make_runs(plans, parent)))
    plot = plot or parent / plot_name(study)
    plot_seeds(study, plot)
    if as_json:
        print(json.dumps({**to_json(study), "plot": str(plot)}, indent=2))
    else:
        print(f"{seeds_markdown(study)}\nplot: {plot}")
    if all(one.keeps_pytorch for one in study.outcomes):
        raise typer.Exit(3)
    raise typer.Exit(0 if any(one.verdict == Verdict.PASSED for one in study.outcomes) else 1)
