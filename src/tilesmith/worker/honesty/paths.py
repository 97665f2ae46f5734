"""Which files a candidate's process may touch, and for what."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from importlib.machinery import PathFinder

_SYSTEM = ("/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/", "/etc/", "/opt/", "/sys/", "/dev/nvidia", "/dev/urandom")
_FACTS = (
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/self/maps",
    "/proc/self/status",
    "/proc/self/cgroup",
    "/proc/stat",
)


@dataclass(frozen=True)
class Territory:
    """Paths are real ones: no links, no dots."""

    task: str
    """The task's file; empty where it is not known."""
    kernel_folder: str
    """Where the kernel's neighbours lie."""
    own_folder: str
    """Scratch space of this child: caches of compilers go there."""

    @classmethod
    def around(cls, kernel: str, task: str) -> Territory:
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
        if path.startswith(_SYSTEM) or path in _FACTS or path.startswith(f"/proc/{os.getpid()}/maps"):
            return True
        return self.may_be_imported(path) or _is_inside(path, self.own_folder)

    def may_be_imported(self, path: str) -> bool:
        installed = (sys.prefix, sys.base_prefix, *(entry for entry in sys.path if entry))
        return any(_is_inside(path, os.path.realpath(root)) for root in (self.kernel_folder, *installed))

    def is_installed(self, package: str) -> bool:
        """Found on the import path, and not as a neighbour of the kernel."""
        elsewhere = [entry for entry in sys.path if os.path.realpath(entry or ".") != self.kernel_folder]
        try:
            return PathFinder.find_spec(package, elsewhere) is not None
        except (ImportError, ValueError, AttributeError):
            return False


def _is_inside(path: str, folder: str) -> bool:
    return bool(folder) and (path == folder or path.startswith(folder.rstrip(os.sep) + os.sep))
