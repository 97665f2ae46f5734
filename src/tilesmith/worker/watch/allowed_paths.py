"""Which files a candidate's process may touch, and for what."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path

from tilesmith.process.sandbox.grants import READABLE_DEVICES, devices, system_paths

_REVEALING = ("mem", "environ", "auxv", "syscall")


@dataclass(frozen=True)
class AllowedPaths:
    """Paths are real ones: no links, no dots."""

    task: str
    """The task's file; empty where it is not known."""
    kernel_folder: str
    """Where the kernel's neighbors lie."""
    own_folder: str
    """Scratch space of this child: caches of compilers go there."""

    @classmethod
    def around(cls, kernel: str, task: Path | None) -> AllowedPaths:
        """That of a child whose working folder is its own."""
        return cls(
            task=os.path.realpath(task) if task else "",
            kernel_folder=os.path.dirname(os.path.realpath(kernel)),
            own_folder=os.path.realpath(os.getcwd()),
        )

    def is_task(self, path: str) -> bool:
        return bool(self.task) and path == self.task

    def may_be_written(self, path: str) -> bool:
        return _is_inside(path, self.own_folder)

    def may_be_read(self, path: str) -> bool:
        """By libraries: what the sandbox grants, too, but for what shows the insides of processes."""
        if path.startswith("/proc/") and os.path.basename(path) in _REVEALING:
            return False
        roots = (*system_paths(), *devices(), *READABLE_DEVICES, self.own_folder)
        return self.may_be_imported(path) or any(_is_inside(path, root) for root in roots)

    def may_be_imported(self, path: str) -> bool:
        installed = (sys.prefix, sys.base_prefix, *(entry for entry in sys.path if entry))
        return any(_is_inside(path, os.path.realpath(root)) for root in (self.kernel_folder, *installed))

    def is_installed(self, package: str) -> bool:
        """Found on the import path, and not as a neighbor of the kernel."""
        elsewhere = [entry for entry in sys.path if os.path.realpath(entry or ".") != self.kernel_folder]
        try:
            return PathFinder.find_spec(package, elsewhere) is not None
        except (ImportError, ValueError, AttributeError):
            return False


def _is_inside(path: str, folder: str) -> bool:
    return bool(folder) and (path == folder or path.startswith(folder.rstrip(os.sep) + os.sep))
