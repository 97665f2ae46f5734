"""`capture`: runs a model once and makes tasks of the calls of its modules, one for each group of equal calls."""

from __future__ import annotations

import fnmatch
import itertools
import random
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from tilesmith.errors import TaskError, UsageError
from tilesmith.live.calls.call_description import describe_call
from tilesmith.live.calls.call_records import CallSpec
from tilesmith.live.calls.kept_state import putting_back
from tilesmith.live.calls.nests import tensors_in
from tilesmith.live.calls.torch_names import version_of
from tilesmith.live.captured.module_tasks import ModuleTask, write_task
from tilesmith.live.user_arguments import make_folder, require_example, require_where

_MOST_COPIED = 65536
_MOST_SHOWN = 20
Where = str | Sequence[str] | Callable[[str, nn.Module], bool] | None


@dataclass(frozen=True)
class CapturedTask:
    """One group of equal calls: modules of one class with equal inputs, parameters and settings."""

    spec: CallSpec
    names: tuple[str, ...]
    """The modules, by qualified name."""
    calls: int
    text: str | None
    """The task; null where there is none."""
    reason: str | None
    """Why there is none."""
    prefix: str = ""
    body: str = ""
    """Of the task's forward pass."""
    path: str | None = None
    """Where the task was written to."""

    @property
    def file_name(self) -> str:
        """For people: the class, and one of the names."""
        words = f"{self.spec.module_class.rpartition('.')[2]}_{self.names[0]}"
        return re.sub(r"\W+", "_", words).strip("_").lower()


@dataclass
class CapturedCalls:
    """A group while it is collected, with the live objects: one example is kept."""

    spec: CallSpec
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    modules: dict[str, nn.Module] = field(default_factory=dict)
    calls: int = 0
    reason: str | None = None

    def task(self) -> CapturedTask:
        """Traces one of the modules, which takes a moment."""
        names = tuple(self.modules)
        try:
            if self.reason is not None:
                raise TaskError(self.reason)
            made = self.write()
        except TaskError as error:
            return CapturedTask(self.spec, names, self.calls, None, str(error))
        return CapturedTask(made.spec, names, self.calls, made.text, None, made.prefix, made.body)

    def write(self) -> ModuleTask:
        return write_task(next(iter(self.modules.values())), self.args, self.kwargs, tuple(self.modules))


@dataclass(frozen=True)
class Capture:
    """What the modules of a model were called with."""

    groups: tuple[CapturedCalls, ...]
    refused: dict[str, str]
    """Modules whose calls nobody can describe, and why."""


class CapturedTasks(tuple[CapturedTask, ...]):
    """The tasks of a model, which print as one line each."""

    refused: dict[str, str]
    """Modules whose calls nobody can describe, and why."""

    def __new__(cls, tasks: Iterable[CapturedTask], refused: dict[str, str]) -> CapturedTasks:
        made = super().__new__(cls, tasks)
        made.refused = refused
        return made

    def __repr__(self) -> str:
        lines = []
        for one in self:
            call = f"{one.spec.describe()} at {shown_names(one.names)}: "
            lines.append(call + (f"left out: {one.reason}" if one.text is None else one.path or "a task"))
        return "\n".join(
            [*lines, *(f"{shown_names([name])}: left out: {why}" for name, why in self.refused.items())]
        )


def shown_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(name or "the model" for name in names[:3]) + more


def capture(
    model: nn.Module,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    where: Where = None,
    folder: str | Path | None = None,
) -> CapturedTasks:
    """Tasks of the modules that one call of `model` reaches, largest groups first; written to `folder` if named."""
    found = capture_calls(model, args, kwargs or {}, where)
    if folder is not None:
        make_folder(Path(folder))
    tasks = [group.task() for group in found.groups]
    if folder is None:
        return CapturedTasks(tasks, found.refused)
    written = []
    for task in tasks:
        path = None
        if task.text is not None:
            file = unused_path(Path(folder), task.file_name, ".py")
            file.write_text(task.text, encoding="utf-8")
            path = str(file)
        written.append(replace(task, path=path))
    return CapturedTasks(written, found.refused)


def unused_path(folder: Path, name: str, suffix: str = "") -> Path:
    numbered = (folder / f"{name}{f'_{number}' if number > 1 else ''}{suffix}" for number in itertools.count(1))
    return next(path for path in numbered if not path.exists())


def capture_calls(model: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any], where: Where = None) -> Capture:
    """Runs the model once, without gradients. Buffers and random states are put back afterwards."""
    require_example(model, args, kwargs)
    require_where(where)
    if any(map(is_lazy, [*model.parameters(), *model.buffers()])):
        raise UsageError("the model has lazy modules, which its first call makes: call it once before")
    chosen = dict(_chosen(model, where))
    patterns: Sequence[Any] = [where] if isinstance(where, str) or callable(where) else where or ()
    for pattern in patterns:
        if not any(True for _ in _chosen(model, pattern)):
            raise UsageError(f"where={pattern!r} names no module of the model; its modules: {_some_names(model)}")
    groups: dict[str, CapturedCalls] = {}
    scripted = [name for name, module in chosen.items() if isinstance(module, torch.jit.ScriptModule)]
    refused = dict.fromkeys(scripted, "it is a ScriptModule, whose calls nobody sees")
    observers = [_Observer(name, module, groups, refused) for name, module in chosen.items() if name not in refused]
    hooks = [hook for one in observers for hook in one.install()]
    try:
        with torch.no_grad(), putting_back(model), torch.random.fork_rng(devices=_cuda_devices(model)):
            model(*args, **kwargs)
    finally:
        for hook in hooks:
            hook.remove()
    if not groups and not refused:
        raise UsageError(f"the example call reached none of the modules that where={where!r} names")
    order = sorted(groups.values(), key=lambda group: -group.calls)
    return Capture(tuple(order), refused)


class _Before(NamedTuple):
    """What a call found."""

    group: CapturedCalls
    versions: list[tuple[torch.Tensor, int]]
    buffers: list[tuple[torch.Tensor, torch.Tensor]]
    """Small ones by value, because batch_norm writes to them without counting it."""
    state: list[Any]
    randomness: Any
    """Of Python and numpy; torch's own operators say themselves that they are random."""


class _Observer:
    """Sees the calls of one module, and whether a call changes what a kernel would not change."""

    def __init__(
        self, name: str, module: nn.Module, groups: dict[str, CapturedCalls], refused: dict[str, str]
    ) -> None:
        self._name, self._module, self._groups, self._refused = name, module, groups, refused
        self._before: list[_Before] = []

    def install(self) -> Iterator[Any]:
        yield self._module.register_forward_pre_hook(self._on_call, with_kwargs=True)
        yield self._module.register_forward_hook(self._on_return, with_kwargs=True)

    def _on_call(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        try:
            spec = describe_call(module, args, kwargs)
        except TaskError as error:
            self._refused[self._name] = str(error)
            return
        group = self._groups.setdefault(repr(spec), CapturedCalls(spec, args, dict(kwargs)))
        group.modules[self._name] = module
        group.calls += 1
        watched = [*tensors_in([args, kwargs]), *module.parameters(), *module.buffers()]
        buffers = [(one, one.clone()) for one in module.buffers() if one.numel() <= _MOST_COPIED]
        versions = [(one, version_of(one)) for one in watched]
        self._before.append(_Before(group, versions, buffers, _state(module), _randomness()))

    def _on_return(self, module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        if self._before:
            before = self._before.pop()
            written = any(version_of(tensor) != version for tensor, version in before.versions)
            if written or any(not torch.equal(one, value) for one, value in before.buffers):
                before.group.reason = "it writes to its inputs, parameters or buffers"
            elif list(map(id, before.state)) != list(map(id, _state(module))):
                before.group.reason = (
                    "it keeps something on itself between calls (if only in the first: call it before)"
                )
            elif before.randomness != _randomness():
                before.group.reason = "it draws random numbers outside of torch"


def _state(module: nn.Module) -> list[Any]:
    """What the modules hold, and what is in the containers and plain objects among it."""
    held = [value for inner in module.modules() for value in vars(inner).values()]
    return [*held, *(item for one in held for item in _items(one))]


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return [item for pair in value.items() for item in pair]
    if isinstance(value, list | tuple | set | deque):
        return value
    return [] if callable(value) or not hasattr(value, "__dict__") else vars(value).values()


def _randomness() -> Any:
    numpy = sys.modules.get("numpy")
    return random.getstate(), repr(numpy.random.get_state()) if numpy is not None else None


def _chosen(model: nn.Module, where: Where) -> Iterator[tuple[str, nn.Module]]:
    patterns = [where] if isinstance(where, str) else where
    for name, module in model.named_modules():
        if isinstance(module, nn.ModuleList | nn.ModuleDict | nn.ParameterList):
            continue
        if callable(patterns):
            if patterns(name, module):
                yield name, module
        elif patterns is None or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
            yield name, module


def _some_names(model: nn.Module) -> str:
    """Those that differ by a number once, as the pattern that chooses them."""
    patterns = (re.sub(r"(?<![^.])\d+(?![^.])", "*", name) for name, _ in _chosen(model, None) if name)
    names = list(dict.fromkeys(patterns))
    shown = ", ".join(names[:_MOST_SHOWN]) + (", ..." if len(names) > _MOST_SHOWN else "")
    return shown or "none but itself, which '' names"


def _cuda_devices(model: nn.Module) -> list[int]:
    return sorted({one.device.index for one in model.parameters() if one.device.type == "cuda"})
