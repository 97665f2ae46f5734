"""`tilesmith scan TASK`: where the time of a model goes, and which of its modules are worth a kernel."""

from __future__ import annotations

import json
from dataclasses import replace

import typer
from rich.console import Console

from tilesmith.cli.output_options import JsonOption, command_help
from tilesmith.cli.task_options import InputsOption, ModelModeOption, PathOption, TaskArgument, mode_of

_HELP = """
Say where the time of a model goes, and which of its modules are worth a kernel.

One call is counted on fake tensors: no GPU, and no memory but the model's own. One line for each class of modules
that are called alike, those with the most to gain first. Examples:

    tilesmith scan package.model:make_model --inputs package.batches:make_batch

    tilesmith scan package.model:Model --path src --eval --gpu "RTX 4090"

    tilesmith scan TASK --recipes --json | jq '.groups[0]'

The model is built and called in a process of its own, with your environment and outside of the sandbox.

Exit code 0: done; 2: the model, its inputs, the options or this machine are at fault.
"""


def register(app: typer.Typer) -> None:
    app.command(help=command_help(_HELP))(scan)


def scan(
    task: TaskArgument,
    inputs: InputsOption = None,
    path: PathOption = None,
    train: ModelModeOption = None,
    gpu: str | None = typer.Option(None, help="GPU to count for (the one here, else an H200).", show_default=False),
    recipes: bool = typer.Option(
        False, "--recipes", help="Also ask the playbook what it would write; runs the call for real."
    ),
    as_json: JsonOption = False,
) -> None:
    from tilesmith.cli.named_model import open_model
    from tilesmith.process.protocol.named_model import ScanModel
    from tilesmith.tasks.source import read_task
    from tilesmith.tasks.user_code.task_name import TaskName

    source = replace(read_task(TaskName(task, inputs, tuple(map(str, path or ())))), mode=mode_of(train))
    with Console(stderr=True).status(f"scanning {task}"), open_model() as model:
        found = model.ask(ScanModel(source, gpu, recipes))
    print(json.dumps(found.document, indent=2) if as_json else found.text)
