"""The types of a task's arguments: a config dataclass of the user's must be known wherever arguments are read."""

from __future__ import annotations

import importlib

from tilesmith.errors import MachineError, TaskError
from tilesmith.process.protocol.reference import ArgumentTypes
from tilesmith.tasks.source import TaskSource
from tilesmith.worker.task.forward_arguments import ForwardArguments
from tilesmith.worker.task.loading import LoadedTask, execute, importable
from tilesmith.worker.task.task_faults import one_line
from tilesmith.worker.tensors.exchange import map_tensors
from tilesmith.worker.tensors.trusted_pickle import defined_in_task, modules_named_in, use_task_modules


def argument_types(loaded: LoadedTask, inputs: ForwardArguments | None) -> ArgumentTypes:
    """What a process must import before it can read the arguments of this task; `inputs` may be without values."""
    try:
        named = modules_named_in([loaded.init_args, loaded.init_kwargs, map_tensors(inputs, lambda _: None)])
    except Exception as error:
        raise TaskError(
            f"{loaded.path}: its arguments cannot be handed to another process ({one_line(error)}); pass plain "
            "values, tensors, or instances of classes that a module defines"
        ) from error
    own = {file.module for file in loaded.source.own_files} | {loaded.source.file.module}
    return ArgumentTypes(tuple(sorted(named & own)), defined_in_task.__module__ in named)


def prepare_for(task: TaskSource, types: ArgumentTypes) -> None:
    """Import what the task's arguments are made of: the user's own code, before any candidate's is there."""
    doing = ""
    try:
        with importable(task):
            for doing in types.modules:
                importlib.import_module(doing)
        if types.in_task:
            doing = task.path.name
            use_task_modules(*execute(task))
    except Exception as error:
        raise MachineError(
            f"the task's arguments are of types of {doing}, which cannot be imported in the kernel's process: "
            f"{one_line(error)}; move these types to a module that imports little"
        ) from error
