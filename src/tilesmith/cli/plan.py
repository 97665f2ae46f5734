"""`tilesmith plan TASK`: what the playbook would write for a task, and what it would leave to PyTorch."""

from __future__ import annotations

import json

import typer
from rich.console import Console

from tilesmith.cli.output_options import JsonOption, command_help
from tilesmith.cli.task_options import InputsOption, ModeOption, PathOption, TaskArgument, mode_of
from tilesmith.config import CheckConfig
from tilesmith.records import to_json

_DEFAULTS = CheckConfig()
_HELP = """
Show how the playbook would write a task, without writing anything.

The forward pass is cut into regions: kernels where a recipe fits, PyTorch's own operators where none does, each
with the bytes it moves, what PyTorch moves for it operator by operator, its FLOPs, the time that the GPU allows,
the time of those operators at least, and why. Where PyTorch is kept, the first line says where its time goes.
Examples:

    tilesmith plan examples/mlp_gelu.py

    tilesmith plan package.model:Block --inputs package.batches:make_batch --eval --json

Exit code 0: there is something to write; 3: PyTorch would be kept; 2: the task, the options or this machine are at
fault.
"""


def register(app: typer.Typer) -> None:
    app.command(help=command_help(_HELP))(plan)


def plan(
    task: TaskArgument,
    inputs: InputsOption = None,
    path: PathOption = None,
    train: ModeOption = None,
    device: str = typer.Option(_DEFAULTS.device, help="auto, cpu or cuda."),
    precision: str = typer.Option(_DEFAULTS.precision, help="TF32 in float32 products: default, ieee or tf32."),
    as_json: JsonOption = False,
) -> None:
    from tilesmith.judge import Judge
    from tilesmith.playbook.task_plan import plan_lines, plan_task
    from tilesmith.tasks.user_code.task_name import TaskName

    named = TaskName(task, inputs, tuple(map(str, path or ())))
    config = CheckConfig(device=device, precision=precision, mode=mode_of(train))
    with Console(stderr=True).status(f"{task}: plan"), Judge(config) as judge:
        found = plan_task(judge.survey(named))
    print(json.dumps(to_json(found), indent=2) if as_json else "\n".join(plan_lines(found)))
    raise typer.Exit(0 if found.recipe_fits else 3)
