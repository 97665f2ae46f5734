"""How a user names a task: a file, FILE:CLASS, MODULE:CLASS or MODULE:FUNCTION, and where its inputs come from."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from tilesmith.errors import TaskError, UsageError
from tilesmith.tasks.user_code.module_files import ModuleFile, file_of_path, find_module

_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_FORMS = "a file, FILE:CLASS, MODULE:CLASS or MODULE:FUNCTION"


@dataclass(frozen=True)
class TaskName:
    """What stands on the command line; the import path is in force for everything the task imports."""

    target: str
    inputs: str | None = None
    """MODULE:FUNCTION, or a FUNCTION of the task's own file; null takes `get_inputs`."""
    path: tuple[str, ...] = ()
    """Folders that are looked in before the current one and those of PYTHONPATH."""

    def import_path(self) -> tuple[str, ...]:
        """Every folder that modules are looked for in, absolute, each once."""
        entries = (*self.path, os.getcwd(), *os.environ.get("PYTHONPATH", "").split(os.pathsep))
        return tuple(dict.fromkeys(os.path.abspath(entry) for entry in entries if entry))

    def absolute(self) -> TaskName:
        """The same task from any folder and in any environment."""
        target = self.target if is_module_name(self.target) else os.path.realpath(self.target)
        return TaskName(target, self.inputs, tuple(filter(os.path.isdir, self.import_path())))

    def __str__(self) -> str:
        return self.target


@dataclass(frozen=True)
class NamedDefinition:
    """A file, and the name of something in it where one was given."""

    file: ModuleFile
    name: str | None


def is_module_name(target: str) -> bool:
    """MODULE:NAME, unless there is a file of that very name."""
    module, found, _ = target.rpartition(":")
    return bool(found) and bool(_DOTTED.fullmatch(module)) and not os.path.exists(target)


def locate_task(task: TaskName) -> NamedDefinition:
    """The file of a task. Raises TaskError or UsageError, one line each."""
    for folder in task.path:
        if not os.path.isdir(folder):
            raise UsageError(f"--path {folder}: no such folder")
    if is_module_name(task.target):
        return _in_module(task.target, task.import_path())
    path, found, name = task.target.rpartition(":")
    if _DOTTED.fullmatch(task.target) and not task.target.endswith(".py") and not os.path.exists(task.target):
        raise TaskError(f"{task.target}: no such file; a class in a module is named MODULE:CLASS")
    if not found or os.path.exists(task.target):
        return NamedDefinition(file_of_path(Path(task.target)), None)
    if not _DOTTED.fullmatch(name) or "." in name:
        raise TaskError(f"{task.target}: is not the name of a task; name {_FORMS}")
    return NamedDefinition(file_of_path(Path(path)), name)


def locate_inputs(task: TaskName, model: ModuleFile) -> NamedDefinition | None:
    """Where `--inputs` points; None where it was not given."""
    if task.inputs is None:
        return None
    if ":" in task.inputs:
        return _in_module(task.inputs, (str(model.root), *task.import_path()))
    if not task.inputs.isidentifier():
        raise UsageError(f"--inputs {task.inputs}: name MODULE:FUNCTION, or a function of the task's own file")
    return NamedDefinition(model, task.inputs)


def _in_module(target: str, import_path: tuple[str, ...]) -> NamedDefinition:
    module, _, name = target.rpartition(":")
    if not _DOTTED.fullmatch(module) or not name.isidentifier():
        raise TaskError(f"{target}: is no name in a module; write MODULE:NAME, as in  package.module:Name")
    found = find_module(module, import_path)
    if found is None:
        raise TaskError(f"{target}: no module {module} on {', '.join(import_path)}; add its folder with --path")
    return NamedDefinition(found, name)
