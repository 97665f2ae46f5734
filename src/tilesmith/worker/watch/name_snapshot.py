"""The functions and classes of torch, triton, Python and this package as they were before the candidate came.

A candidate that replaces a clock, an event, a comparison or a launch changes one of these names; additions and
changed data do not matter.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Hashable, Iterable, Iterator
from itertools import chain
from operator import call, is_, itemgetter
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, ModuleType, WrapperDescriptorType
from typing import Any

import torch

from tilesmith.worker.compat.torch_names import PRIVATE_MODULES

_MODULES = [
    "builtins",
    "time",
    "os",
    "posix",
    "sys",
    "gc",
    "json",
    "json.encoder",
    "json.decoder",
    "json.scanner",
    "dataclasses",
    "typing",
    "threading",
    "_thread",
    "math",
    "struct",
    "io",
    "random",
    "inspect",
    "socket",
    "linecache",
    "functools",
    "itertools",
    "collections",
    "signal",
    "importlib",
    "types",
    "copy",
    "weakref",
    "traceback",
    "torch",
    "torch.amp",
    "torch.autograd",
    "torch.autograd.profiler",
    "torch.cuda",
    "torch.jit",
    "torch.library",
    "torch.nn",
    "torch.nn.functional",
    "torch.nn.modules.module",
    "torch.profiler",
    "torch.random",
    "torch.serialization",
    "torch.storage",
    "torch.cuda.streams",
    "torch.cuda.graphs",
    "torch.cuda.random",
    "torch.cuda.memory",
    "torch.linalg",
    "torch.special",
    "torch.fft",
    "numpy",
    "contextlib",
    "unittest.mock",
    *PRIVATE_MODULES,
]
_OURS = "tilesmith."
_PACKAGES = ("triton.", _OURS)
_CALLABLES = (
    FunctionType,
    BuiltinFunctionType,
    MethodDescriptorType,
    WrapperDescriptorType,
    type,
    ModuleType,
    property,
    staticmethod,
    classmethod,
)
_LEGACY = type(torch.FloatTensor)
"""The class of torch.FloatTensor and its hundred sisters: no tensor is an instance of them."""
_GONE = object()

Owner = ModuleType | type
Changes = dict[tuple[int, str], Any]


@functools.cache
def snapshot_of_process() -> NameSnapshot:
    """That of this process, or of the server it was forked from. What was replaced since then, before candidate
    code runs, is an intended change."""
    return NameSnapshot()


class NameSnapshot:
    """Compared around every call, so in C."""

    def __init__(self) -> None:
        modules = [m for name in [*_MODULES, *_of_packages()] if isinstance(m := sys.modules.get(name), ModuleType)]
        owners: dict[int, Owner] = {id(module): module for module in modules}
        for module in modules:
            owners |= {id(cls): cls for cls in _classes_of(module)}
        self._changed: list[_OwnerSnapshot] = []
        """Those in which something was replaced since: they are compared one by one."""
        self._unchanged = _UnchangedOwners([_OwnerSnapshot(owner) for owner in owners.values()])
        self._tables = [(module, name, repr(value)) for module, name, value in _our_tables(modules)]
        self._modules = dict(sys.modules)
        self._finders = list(sys.meta_path), list(sys.path_hooks)

    def intended_changes(self) -> Changes:
        """What differs now and is meant to: replacements that are put in place around a call, never in our code."""
        differing = self._differing({})
        return {(id(owner), name): value for owner, name, value in differing if not _name(owner).startswith(_OURS)}

    def replaced(self, intended: Changes) -> str | None:
        """The first name that holds something else than it should, as a user would write it."""
        for owner, name, _ in self._differing(intended):
            return f"{_name(owner)}.{name}"
        for module, name, shown in self._tables:
            if repr(vars(module).get(name)) != shown:
                return f"{_name(module)}.{name}"
        if (list(sys.meta_path), list(sys.path_hooks)) != self._finders:
            return "sys.meta_path"
        if all(map(is_, map(sys.modules.get, self._modules), self._modules.values())):
            return None
        changed = (name for name, module in self._modules.items() if sys.modules.get(name) is not module)
        return f"sys.modules['{next(changed)}']"

    def _differing(self, intended: Changes) -> Iterator[tuple[Owner, str, Any]]:
        if not self._unchanged.are_unchanged():
            touched = [snapshot for snapshot in self._unchanged.owners if snapshot.differing()]
            self._changed += touched
            self._unchanged = _UnchangedOwners(
                [snapshot for snapshot in self._unchanged.owners if snapshot not in touched]
            )
        for snapshot in self._changed:
            for name, now in snapshot.differing():
                if intended.get((id(snapshot.owner), name), _GONE) is not now or now is _GONE:
                    yield snapshot.owner, name, now


class _OwnerSnapshot:
    """The callables of one module or class; of our own modules also the constants."""

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        ours = isinstance(owner, ModuleType) and owner.__name__.startswith(_OURS)
        known = {
            name: value
            for name, value in list(vars(owner).items())
            if isinstance(value, _CALLABLES) or (ours and name.isupper())
        }
        self.names, self.values = tuple(known), tuple(known.values())
        self._all_names = frozenset(vars(owner))

    def differing(self) -> list[tuple[str, Any]]:
        current = vars(self.owner)
        if all(map(is_, map(current.get, self.names), self.values)):
            return self._shadowing() if len(current) > len(self._all_names) else []
        pairs = zip(self.names, self.values, strict=True)
        changed = [
            (name, current.get(name, _GONE)) for name, value in pairs if current.get(name, _GONE) is not value
        ]
        return changed + self._shadowing()

    def _shadowing(self) -> list[tuple[str, Any]]:
        """New names of a class that hide what it inherits: `torch.Tensor.copy_` is not its own."""
        if not isinstance(self.owner, type):
            return []
        new = vars(self.owner).keys() - self._all_names
        return [
            (name, vars(self.owner)[name]) for name in new if any(hasattr(b, name) for b in self.owner.__mro__[1:])
        ]


class _UnchangedOwners:
    """Many owners as one: every value in its place, and no class with new names."""

    def __init__(self, owners: list[_OwnerSnapshot]) -> None:
        self.owners = owners
        named = [(vars(snapshot.owner), snapshot.names) for snapshot in owners if snapshot.names]
        self._tables = [table for table, _ in named]
        self._readers = [itemgetter(*names, names[0]) for _, names in named]  # of one name alone it is no tuple
        self._values = [value for one in owners if one.names for value in (*one.values, one.values[0])]
        self._classes = [vars(snapshot.owner) for snapshot in owners if isinstance(snapshot.owner, type)]
        self._sizes = list(map(len, self._classes))

    def are_unchanged(self) -> bool:
        held = chain.from_iterable(map(call, self._readers, self._tables))
        try:
            return all(map(is_, held, self._values)) and list(map(len, self._classes)) == self._sizes
        except KeyError:  # a name is gone
            return False


def _our_tables(modules: list[ModuleType]) -> Iterator[tuple[ModuleType, str, Any]]:
    """Names in capitals that hold something changeable, which our own code never changes."""
    for module in modules:
        if module.__name__.startswith(_OURS):
            for name, value in vars(module).items():
                if name.isupper() and not isinstance(value, Hashable):
                    yield module, name, value


def _of_packages() -> Iterable[str]:
    return [name for name in sys.modules if name.startswith(_PACKAGES)]


def _classes_of(module: ModuleType) -> Iterator[type]:
    package = module.__name__.partition(".")[0]
    for value in list(vars(module).values()):
        if isinstance(value, type) and not isinstance(value, _LEGACY) and _package_of(value) == package:
            yield value


def _package_of(cls: type) -> str:
    return str(getattr(cls, "__module__", "")).partition(".")[0]


def _name(owner: Owner) -> str:
    return owner.__name__ if isinstance(owner, ModuleType) else f"{owner.__module__}.{owner.__qualname__}"
