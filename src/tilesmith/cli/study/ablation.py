"""`tilesmith study ablation TASK...`: what each phase is worth."""

from __future__ import annotations

import json
from typing import Any

import typer

from tilesmith.cli.forging.forge_options import author_of
from tilesmith.cli.output_options import JsonOption, command_help, runs_folder
from tilesmith.cli.study.study_options import FolderOption, ReplayOption, make_runs, study_options
from tilesmith.cli.task_options import TASK_HELP, PathOption

_HELP = """
Switch phases on and off and show what each is worth: analysis, more seeds, tuning stages.

A: one seed, then analysis. B: three seeds, the best, analysis only where it is slower than PyTorch. C: one seed, no
analysis. Each with the tuning stages and without: six runs for each of --runs and each task, all in the runs
folder. Those that are there already count, so the same command goes on after a stop.

Examples:

    tilesmith study ablation examples/softmax.py --runs 1 --author playbook

    tilesmith study ablation TASK OTHER_TASK --runs 4 --model gpt-5 --stages off

    tilesmith study ablation TASK --replay recorded --folder again --json

With one task, fewer than four runs of each arm cannot show that a difference is more than chance.

Exit code 0: some kernel passed; 1: none did; 2: wrong use, or the author or this machine failed; 3: PyTorch is
kept, because the playbook has no recipe.
"""


def register(group: typer.Typer) -> None:
    group.command("ablation", help=command_help(_HELP))(ablation)


@study_options
def ablation(
    tasks: list[str] = typer.Argument(metavar="TASK...", help=TASK_HELP),
    runs: int = typer.Option(4, help="How many runs of each arm there shall be."),
    stages: str = typer.Option("both", help="both, on or off."),
    replay: ReplayOption = None,
    path: PathOption = None,
    folder: FolderOption = None,
    as_json: JsonOption = False,
    **options: Any,
) -> None:
    from tilesmith.config import CheckConfig
    from tilesmith.errors import UsageError
    from tilesmith.forge.run_specification import RunSpecification
    from tilesmith.forge.settings import ForgeSettings
    from tilesmith.records import to_json
    from tilesmith.study.ablation import plan_ablation, read_arm_run, study_ablation
    from tilesmith.study.ablation_table import ablation_markdown
    from tilesmith.study.experiment import recorded_runs
    from tilesmith.tasks.source import read_task
    from tilesmith.tasks.user_code.task_name import TaskName

    check = CheckConfig(device=options["device"], target=options["target"], timeout_s=options["timeout"])
    choice = author_of(options)
    plans, names = [], set[str]()
    for task in dict.fromkeys(tasks):
        named = TaskName(task, path=tuple(map(str, path or ())))
        recorded = recorded_runs(replay, named) if replay else None
        wanted = RunSpecification(named, choice, check, ForgeSettings())
        plans += plan_ablation(wanted, runs, stages, recorded)
        if (name := read_task(named).name) in names:
            raise UsageError(f"two tasks are called {name}: the table could not tell them apart; rename one")
        names.add(name)
    made = make_runs(plans, runs_folder(folder))
    found = [
        read_arm_run(plan.specification.study, name, summary)
        for plan, (name, summary) in zip(plans, made, strict=True)
    ]
    study = study_ablation(plans[0].specification.author.name, found)
    if as_json:
        conclusions = [{**to_json(one), "conclusion": one.conclusion} for one in study.comparisons]
        print(json.dumps({**to_json(study), "comparisons": conclusions}, indent=2))
    else:
        print(ablation_markdown(study), end="")
    if all(run.keeps_pytorch for run in study.runs):
        raise typer.Exit(3)
    raise typer.Exit(0 if any(run.passed for run in study.runs) else 1)
