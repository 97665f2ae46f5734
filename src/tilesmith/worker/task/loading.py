"""Loads a task: executes its file, makes its inputs, builds and runs its reference.

Each load gets a module name of its own, so two shapes of one task live side by side; it is in
`sys.modules` because dataclasses and pickle look classes up there. `unload` takes it out again.
"""

from __future__ import annotations

import inspect
import itertools
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import torch

from tilesmith.errors import TaskError
from tilesmith.tasks.source import TaskSource, parse_task, read_task
from tilesmith.worker.task.task_faults import blamed_on_task

_load_numbers = itertools.count()


@dataclass(frozen=True)
class LoadedTask:
    """A task whose file has been executed: ready to make inputs and models."""

    source: TaskSource
    module: ModuleType
    model_class: type[torch.nn.Module]
    init_args: list[Any]
    init_kwargs: dict[str, Any]

    @property
    def path(self) -> Path:
        return self.source.path

    def make_inputs(self, seed: int | None = None) -> list[Any]:
        """Fresh inputs from the task's own function, checked; seeded if asked for."""
        return make_inputs(self, seed)


class InitArguments(NamedTuple):
    args: list[Any]
    kwargs: dict[str, Any]


def load_task(path: str | Path, text: str | None = None) -> LoadedTask:
    """Executes the task at `path`, or `text` in its place under the same file name."""
    source = read_task(path) if text is None else parse_task(Path(path), text)
    module = _execute(source)
    try:
        model_class = getattr(module, source.model_name, None)
        if not (isinstance(model_class, type) and issubclass(model_class, torch.nn.Module)):
            raise TaskError(f"{source.path}: {source.model_name} is not a class derived from nn.Module")
        if not callable(getattr(module, source.inputs_name, None)):
            raise TaskError(f"{source.path}: {source.inputs_name} is not a function")
        arguments = _init_arguments(source, module, model_class)
    except BaseException:
        sys.modules.pop(module.__name__, None)
        raise
    return LoadedTask(source, module, model_class, arguments.args, arguments.kwargs)


def unload(loaded: LoadedTask) -> None:
    """Forgets the task's module, so that trying many variants does not pile them up."""
    sys.modules.pop(loaded.module.__name__, None)


def resized(exact: LoadedTask, other: LoadedTask) -> dict[str, tuple[Any, Any]]:
    """The module-level sizes that differ between two shapes of a task, by name."""
    before, after = vars(exact.module), vars(other.module)
    common = {name for name in before.keys() & after.keys() if _is_size(before[name]) and _is_size(after[name])}
    return {name: (before[name], after[name]) for name in sorted(common) if before[name] != after[name]}


def _is_size(value: Any) -> bool:
    return type(value) is int or (isinstance(value, tuple | list) and all(_is_size(item) for item in value))


def seed_everything(seed: int) -> None:
    """The random state of torch, numpy and random, which are all a task is likely to draw from."""
    torch.manual_seed(seed)
    np.random.seed(seed % 2**32)
    random.seed(seed)


def build_model(loaded: LoadedTask, seed: int = 0) -> torch.nn.Module:
    """The reference model, constructed under `seed` so that it can be constructed again alike."""
    seed_everything(seed)
    with blamed_on_task(loaded.path, f"constructing {loaded.source.model_name}", _signature_hint(loaded)):
        return loaded.model_class(*loaded.init_args, **loaded.init_kwargs)


def make_inputs(loaded: LoadedTask, seed: int | None = None) -> list[Any]:
    """What the task's input function returns, as a list, or a one-line complaint."""
    if seed is not None:
        seed_everything(seed)
    name = loaded.source.inputs_name
    with blamed_on_task(loaded.path, f"{name}()"):
        inputs = getattr(loaded.module, name)()
    where = f"{loaded.path}:{_definition_line(loaded, name)}"
    if not isinstance(inputs, list | tuple):
        kind = type(inputs).__name__
        raise TaskError(f"{where}: {name}() returned {kind}, not a list; write  return [x, ...]")
    _check_devices(where, name, inputs)
    return list(inputs)


def run_forward(loaded: LoadedTask, model: torch.nn.Module, inputs: list[Any]) -> Any:
    """The reference's outputs; a failure names the line of the task where it happened."""
    with blamed_on_task(loaded.path, f"{loaded.source.model_name}.forward"):
        return model(*inputs)


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """Every tensor in nested lists, tuples and dictionaries, in order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)


def _execute(source: TaskSource) -> ModuleType:
    module = ModuleType(f"tilesmith_task_{next(_load_numbers)}")
    module.__file__ = str(source.path)
    sys.modules[module.__name__] = module
    folder = str(source.path.resolve().parent)  # the task may import its neighbors
    sys.path.insert(0, folder)
    try:
        with blamed_on_task(source.path, "executing the task"):
            exec(compile(source.text, str(source.path), "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        del sys.modules[module.__name__]
        raise
    finally:
        if folder in sys.path:
            sys.path.remove(folder)
    return module


def _init_arguments(source: TaskSource, module: ModuleType, model_class: type[torch.nn.Module]) -> InitArguments:
    """Constructor arguments in any of the usual forms; the first that fits the signature."""
    function = getattr(module, source.init_name, None) if source.init_name else None
    if function is None:
        return InitArguments([], {})
    with blamed_on_task(source.path, f"{source.init_name}()"):
        returned = function()
    if returned is not None and not isinstance(returned, list | tuple | dict):
        kind = type(returned).__name__
        raise TaskError(f"{source.path}: {source.init_name}() returned {kind}; return a list or a dict")
    readings = list(_readings(returned))
    return next((reading for reading in readings if _fits(model_class, reading)), readings[0])


def _readings(returned: Any) -> Iterator[InitArguments]:
    if not returned:
        yield InitArguments([], {})
    elif isinstance(returned, dict):
        yield InitArguments([], {str(name): value for name, value in returned.items()})
    else:
        items = list(returned)
        if len(items) == 2 and isinstance(items[0], list | tuple) and isinstance(items[1], dict):
            yield InitArguments(list(items[0]), dict(items[1]))
        yield InitArguments(items, {})
        if len(items) == 1 and isinstance(items[0], dict):
            yield InitArguments([], dict(items[0]))


def _fits(model_class: type[torch.nn.Module], reading: InitArguments) -> bool:
    try:
        inspect.signature(model_class).bind(*reading.args, **reading.kwargs)
    except (TypeError, ValueError):
        return False
    return True


def _signature_hint(loaded: LoadedTask) -> str:
    """What to do when the constructor and its arguments do not fit together."""
    if _fits(loaded.model_class, InitArguments(loaded.init_args, loaded.init_kwargs)):
        return ""
    if loaded.source.init_name is None:
        return "add  def get_init_inputs(): return [...]  with the constructor's arguments"
    return f"make {loaded.source.init_name}() return the constructor's arguments"


def _definition_line(loaded: LoadedTask, name: str) -> int:
    code = getattr(getattr(loaded.module, name), "__code__", None)
    return int(code.co_firstlineno) if code else 1


def _check_devices(where: str, name: str, inputs: Any) -> None:
    """All inputs must hold values and sit on one device; which one does not matter to us."""
    devices = sorted({str(tensor.device) for tensor in tensors_in(inputs)})
    if "meta" in devices:
        raise TaskError(f"{where}: {name}() made a meta tensor, which has no values; drop device='meta'")
    if len(devices) > 1:
        mixed = " and ".join(devices)
        raise TaskError(f"{where}: {name}() mixes devices {mixed}; make all inputs on the CPU, we move them")
