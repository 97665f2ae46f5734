"""How a command is told its task: the arguments and options that all of them share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

TASK_HELP = "Python file with Model, get_inputs and get_init_inputs, or MODULE:CLASS, or MODULE:FUNCTION."
TIMEOUT_HELP = "Seconds one step of a kernel may take; a step of the task itself may take 300, or this if longer."
_INPUTS_HELP = "Function that makes the inputs: MODULE:FUNCTION, or a name in the task's file (get_inputs)."
_PATH_HELP = "Folder to look for modules in, before the current one and PYTHONPATH; may be repeated."
_MODE_HELP = "Mode the module is judged in (the one it is built in, unless it is random there)."
_MODEL_MODE_HELP = "Mode the model is called in (the one it is built in)."

TaskArgument = Annotated[str, typer.Argument(help=TASK_HELP)]
InputsOption = Annotated[str | None, typer.Option(help=_INPUTS_HELP, show_default=False)]
PathOption = Annotated[list[Path] | None, typer.Option(help=_PATH_HELP, show_default=False)]
ModeOption = Annotated[bool | None, typer.Option("--train/--eval", help=_MODE_HELP, show_default=False)]
ModelModeOption = Annotated[bool | None, typer.Option("--train/--eval", help=_MODEL_MODE_HELP, show_default=False)]


def mode_of(train: bool | None) -> str:
    return "auto" if train is None else "train" if train else "eval"
