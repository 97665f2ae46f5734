"""Loads a task: executes its file, makes its inputs, builds and runs its reference.

Each load gets a module name of its own, so two shapes of one task live side by side; it is in
`sys.modules` because dataclasses and pickle look classes up there. `unload` takes it out again.
What the task imports is imported once and shared by all shapes.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

from tilesmith.errors import TaskError
from tilesmith.tasks.source import TaskSource, parse_task, read_task
from tilesmith.tasks.user_code.module_files import ModuleFile
from tilesmith.worker.task.forward_arguments import ForwardArguments, call, read_arguments
from tilesmith.worker.task.task_faults import blamed_on_task
from tilesmith.worker.tensors.exchange import tensors_in
from tilesmith.worker.tensors.trusted_pickle import INPUTS_MODULE, TASK_MODULE

_load_numbers = itertools.count()


@dataclass(frozen=True)
class LoadedTask:
    """A task whose file has been executed: ready to make inputs and models."""

    source: TaskSource
    module: ModuleType
    inputs_module: ModuleType
    """The same, unless the inputs come from a file of their own."""
    constructor: Callable[..., Any]
    """The class of the model, or a function that returns one."""
    init_args: list[Any]
    init_kwargs: dict[str, Any]

    @property
    def path(self) -> Path:
        return self.source.path

    @property
    def other_paths(self) -> tuple[Path, ...]:
        """The user's own files beside it."""
        return tuple(file.path for file in self.source.own_files)

    def make_inputs(self, seed: int | None = None) -> ForwardArguments:
        """Fresh inputs from the task's own function, checked; seeded if asked for."""
        return make_inputs(self, seed)


def load_task(task: TaskSource | str | Path, text: str | None = None) -> LoadedTask:
    """Executes a task, or `text` in its place under the same file names."""
    if not isinstance(task, TaskSource):
        source = read_task(task) if text is None else parse_task(Path(task), text)
    else:
        source = task if text is None else replace(task, text=text)
    module, inputs_module = execute(source)
    try:
        return _checked(source, module, inputs_module)
    except BaseException:
        _forget(module, inputs_module)
        raise


def import_task(source: TaskSource) -> LoadedTask:
    """Imports a task under its own name, as programs of its user do: what its file defines can then be pickled. For
    processes that have one shape of one task, and keep its `importable` path."""
    module = _imported(source.file)
    return _checked(source, module, _imported(source.inputs_file) if source.inputs_file else module)


def _checked(source: TaskSource, module: ModuleType, inputs_module: ModuleType) -> LoadedTask:
    constructor = getattr(module, source.model_name, None)
    is_class = isinstance(constructor, type) and issubclass(constructor, torch.nn.Module)
    if constructor is None or not (is_class or inspect.isroutine(constructor)):
        raise TaskError(
            f"{source.path}: {source.model_name} is not a class derived from nn.Module, nor a function that "
            "returns one"
        )
    if not callable(getattr(inputs_module, source.inputs_name, None)):
        raise TaskError(f"{inputs_module.__file__}: {source.inputs_name} is not a function")
    arguments = _init_arguments(source, module, constructor) if is_class else ForwardArguments([], {})
    return LoadedTask(source, module, inputs_module, constructor, arguments.args, arguments.kwargs)


def unload(loaded: LoadedTask) -> None:
    """Forgets the task's module, so that trying many variants does not pile them up."""
    _forget(loaded.module, loaded.inputs_module)


def _forget(*modules: ModuleType) -> None:
    for module in modules:
        sys.modules.pop(module.__name__, None)


def resized(exact: LoadedTask, other: LoadedTask) -> dict[str, tuple[Any, Any]]:
    """The module-level sizes that differ between two shapes of a task, by name."""
    before, after = (vars(one.inputs_module) | vars(one.module) for one in (exact, other))
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
    name = loaded.source.model_name
    with blamed_on_task(loaded.path, f"constructing {name}", _signature_hint(loaded)):
        model = loaded.constructor(*loaded.init_args, **loaded.init_kwargs)
    if not isinstance(model, torch.nn.Module):
        raise TaskError(f"{loaded.path}: {name}() returned {type(model).__name__}, not an nn.Module")
    return model if loaded.source.mode == "auto" else model.train(loaded.source.mode == "train")


def make_inputs(loaded: LoadedTask, seed: int | None = None) -> ForwardArguments:
    """What the task's input function returns, on one device and with values, or a one-line complaint."""
    inputs = returned_inputs(loaded, seed)
    _check_devices(loaded, inputs)
    return inputs


def returned_inputs(loaded: LoadedTask, seed: int | None = None) -> ForwardArguments:
    """What the task's input function returns, as the arguments of a call."""
    if seed is not None:
        seed_everything(seed)
    name = loaded.source.inputs_name
    path = (loaded.source.inputs_file or loaded.source.file).path
    with blamed_on_task(path, f"{name}()"):
        returned = getattr(loaded.inputs_module, name)()
    inputs = read_arguments(returned)
    if inputs is None:
        kind = "a dict with keys that are no names" if isinstance(returned, Mapping) else type(returned).__name__
        raise TaskError(
            f"{_inputs_function(loaded)} returned {kind}; return a list of arguments, a tensor, a dict of keyword "
            "arguments or (args, kwargs)"
        )
    return inputs


def run_forward(loaded: LoadedTask, model: torch.nn.Module, inputs: ForwardArguments) -> Any:
    """The reference's outputs; a failure names the line of the task where it happened."""
    with blamed_on_task(loaded.path, f"{loaded.source.model_name}.forward", others=loaded.other_paths):
        return call(model, inputs)


def execute(source: TaskSource) -> tuple[ModuleType, ModuleType]:
    """The modules of the model and of the inputs, which see the task's own sizes where they import each other."""
    number = next(_load_numbers)
    with importable(source):
        module = _execute_file(source.file, source.model_text, f"{TASK_MODULE}{number}")
        if source.inputs_file is None or source.inputs_text is None:
            return module, module
        try:
            with _found_as(source.file.module, module):
                inputs = _execute_file(source.inputs_file, source.inputs_text, f"{INPUTS_MODULE}{number}")
        except BaseException:
            _forget(module)
            raise
        return module, inputs


@contextmanager
def _found_as(name: str, module: ModuleType) -> Iterator[None]:
    """Whoever imports `name` gets `module`, by `from package import name` too."""
    parent = sys.modules.get(name.rpartition(".")[0])
    places = [sys.modules, *([vars(parent)] if parent is not None else [])]
    keys = [name, name.rpartition(".")[2]]
    before = [place.get(key) for place, key in zip(places, keys, strict=False)]
    for place, key in zip(places, keys, strict=False):
        place[key] = module
    try:
        yield
    finally:
        for place, key, kept in zip(places, keys, before, strict=False):
            if kept is None:
                place.pop(key, None)
            else:
                place[key] = kept


@contextmanager
def importable(source: TaskSource) -> Iterator[None]:
    """The import path as the task needs it: neighbors before all else, but those inside of a package last, because
    a package may have a file named like a module of Python's."""
    files = [source.file, *([source.inputs_file] if source.inputs_file else [])]
    first = [str(file.root.resolve()) for file in files]
    last = [str(file.path.resolve().parent) for file in files]
    before = list(sys.path)
    sys.path[:] = list(dict.fromkeys([*first, *source.import_path, *before, *last]))
    try:
        yield
    finally:
        sys.path[:] = before


def _execute_file(file: ModuleFile, text: str, name: str) -> ModuleType:
    package = file.package
    module = ModuleType(f"{package}.{name}" if package else name)
    module.__file__ = str(file.path)
    with blamed_on_task(file.path, "executing the task"):
        if package:
            importlib.import_module(package)
            module.__package__ = package
        if file.path.name == "__init__.py":
            module.__path__ = [str(file.path.parent)]
    sys.modules[module.__name__] = module
    try:
        with blamed_on_task(file.path, "executing the task"):
            exec(compile(text, str(file.path), "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        del sys.modules[module.__name__]
        raise
    return module


def _imported(file: ModuleFile) -> ModuleType:
    if "." in file.path.stem:
        raise TaskError(f"{file.path}: Python cannot import it with a dot in its name; rename the file")
    with blamed_on_task(file.path, "importing it"):
        module = importlib.import_module(file.module)
    found = getattr(module, "__file__", None)
    if found is None or not file.path.samefile(found):
        raise TaskError(f"{file.path}: Python has another module named {file.module}; rename the file")
    return module


def _init_arguments(source: TaskSource, module: ModuleType, constructor: Callable[..., Any]) -> ForwardArguments:
    """Constructor arguments in any of the usual forms; the first that fits the signature."""
    function = getattr(module, source.init_name, None) if source.init_name else None
    if function is None:
        return ForwardArguments([], {})
    with blamed_on_task(source.path, f"{source.init_name}()"):
        returned = function()
    if returned is not None and not isinstance(returned, list | tuple | dict):
        kind = type(returned).__name__
        raise TaskError(f"{source.path}: {source.init_name}() returned {kind}; return a list or a dict")
    readings = list(_readings(returned))
    return next((reading for reading in readings if _fits(constructor, reading)), readings[0])


def _readings(returned: Any) -> Iterator[ForwardArguments]:
    if not returned:
        yield ForwardArguments([], {})
    elif isinstance(returned, dict):
        yield ForwardArguments([], {str(name): value for name, value in returned.items()})
    else:
        items = list(returned)
        if len(items) == 2 and isinstance(items[0], list | tuple) and isinstance(items[1], dict):
            yield ForwardArguments(list(items[0]), dict(items[1]))
        yield ForwardArguments(items, {})
        if len(items) == 1 and isinstance(items[0], dict):
            yield ForwardArguments([], dict(items[0]))


def _fits(constructor: Callable[..., Any], reading: ForwardArguments) -> bool:
    try:
        inspect.signature(constructor).bind(*reading.args, **reading.kwargs)
    except (TypeError, ValueError):
        return False
    return True


def _signature_hint(loaded: LoadedTask) -> str:
    """What to do when the constructor and its arguments do not fit together."""
    if _fits(loaded.constructor, ForwardArguments(loaded.init_args, loaded.init_kwargs)):
        return ""
    if loaded.source.init_name is None:
        return "add  def get_init_inputs(): return [...]  with the constructor's arguments"
    return f"make {loaded.source.init_name}() return the constructor's arguments"


def _inputs_function(loaded: LoadedTask) -> str:
    """`task.py:12: get_inputs()`"""
    name, path = loaded.source.inputs_name, (loaded.source.inputs_file or loaded.source.file).path
    code = getattr(getattr(loaded.inputs_module, name), "__code__", None)
    return f"{path}:{code.co_firstlineno if code else 1}: {name}()"


def _check_devices(loaded: LoadedTask, inputs: ForwardArguments) -> None:
    """All inputs must hold values and sit on one device; which one does not matter to us."""
    devices = sorted({str(tensor.device) for tensor in tensors_in(inputs)})
    function = _inputs_function(loaded)
    if "meta" in devices:
        raise TaskError(f"{function} made a meta tensor, which has no values; drop device='meta'")
    if len(devices) > 1:
        mixed = " and ".join(devices)
        raise TaskError(f"{function} mixes devices {mixed}; make all inputs on the CPU, we move them")
