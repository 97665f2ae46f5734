"""Pickles between our own processes: constructor arguments and inputs may be of any type the user has.

A task's file is executed under a module name of its own in every process, so what is defined there goes by its
place in the file. What the user's other modules define goes by name, as always.
"""

from __future__ import annotations

import io
import operator
import pickle
import pickletools
from types import FunctionType, ModuleType
from typing import Any

import torch

TASK_MODULE, INPUTS_MODULE = "tilesmith_task_", "tilesmith_inputs_"
"""Beginnings of the names under which the files of a task are executed; the rest is a number."""
_here: dict[str, ModuleType] = {}
"""The task's modules as this process has them, by the beginning of their name."""


def write_trusted(path: str, value: Any) -> None:
    torch.save(value, path, pickle_module=_TaskPickle)


def read_trusted(path: str) -> Any:
    return torch.load(path, weights_only=False, map_location="cpu", mmap=True)


def modules_named_in(value: Any) -> set[str]:
    """The modules that whoever reads `value` must be able to import."""
    written = io.BytesIO()
    _TaskPickler(written, protocol=2).dump(value)
    opcodes = pickletools.genops(written.getvalue())
    return {str(argument).split(" ")[0] for opcode, argument, _ in opcodes if opcode.name == "GLOBAL"}


def use_task_modules(model: ModuleType, inputs: ModuleType) -> None:
    """From now on, what is read here and was defined in the task's files is taken from these modules."""
    _here.update({TASK_MODULE: model, INPUTS_MODULE: inputs})


def defined_in_task(module: str, name: str) -> Any:
    return operator.attrgetter(name)(_here[module])


class _TaskPickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, type | FunctionType) and "<" not in value.__qualname__:  # <lambda>, <locals>
            module = str(value.__module__).rpartition(".")[2]
            for beginning in (TASK_MODULE, INPUTS_MODULE):
                if module.startswith(beginning):
                    return defined_in_task, (beginning, value.__qualname__)
        return NotImplemented


class _TaskPickle:
    """Stands in for the module `pickle`."""

    Pickler = _TaskPickler
