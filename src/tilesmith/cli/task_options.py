"""How a command is told its task: the arguments and options that all of them share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

TASK_HELP = "Python file with Model, get_inputs and get_init_inputs, or MODULE:CLASS, or MODULE:FUNCTION."
_INPUTS_HELP = "Function that makes the inputs: MODULE:FUNCTION, or a name in the task's file [get_inputs]."
_PATH_HELP = "Folder to look for modules in, before the current one and PYTHONPATH; may be repeated."

TaskArgument = Annotated[str, typer.Argument(help=TASK_HELP)]
InputsOption = Annotated[str | None, typer.Option(help=_INPUTS_HELP, show_default=False)]
PathOption = Annotated[list[Path] | None, typer.Option(help=_PATH_HELP, show_default=False)]
