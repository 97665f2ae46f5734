"""The folder that an agent may name files in: whatever a path or a link leads out of it is refused."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tilesmith.errors import RunError, UsageError
from tilesmith.runs.listing import find_run
from tilesmith.tasks.user_code.task_name import TaskName, is_module_name, locate_inputs, locate_task


@dataclass(frozen=True)
class Workspace:
    """Confines what is named, not what a task's own code does: that runs with the user's rights."""

    root: Path
    """Without links."""
    runs: Path
    """Where runs are made; the user chose it, so it may lie elsewhere."""

    def file(self, name: str) -> Path:
        """The real place of a file that an agent named."""
        try:
            path = Path(os.path.realpath(self.root / name))
        except ValueError:
            raise UsageError(f"{name!r} is not a path") from None
        if not path.is_relative_to(self.root):
            raise UsageError(
                f"{name}: lies outside {self.root}; name a file inside it, or start with another --root"
            )
        return path

    def task(self, target: str, inputs: str | None = None, path: Sequence[str] = ()) -> TaskName:
        """A task by the name that the command line takes; its file and that of its inputs lie in the root."""
        if not is_module_name(target):
            self.file(target)
        name = TaskName(target, inputs, tuple(str(self.file(one)) for one in path))
        located = locate_task(name)
        self.file(str(located.file.path))
        if (made_in := locate_inputs(name, located.file)) is not None:
            self.file(str(made_in.file.path))
        return name.absolute()

    def run(self, name: str) -> Path:
        """The folder of a run; one that was named by a path must be a run of ours or lie in the root."""
        path = Path(os.path.realpath(find_run(self.runs, name)))
        if not (path.is_relative_to(self.root) or path.is_relative_to(self.runs)):
            raise RunError(f"{name}: lies outside {self.runs}; name a run that the tool `runs` lists")
        return path

    def shown(self, path: Path) -> str:
        """The path as an agent would name it."""
        return str(path.relative_to(self.root) if path.is_relative_to(self.root) else path)


def open_workspace(root: Path, runs: Path) -> Workspace:
    """`runs` is relative to the root, unless it is absolute."""
    real = Path(os.path.realpath(root))
    if not real.is_dir():
        raise UsageError(f"--root {root}: no such folder")
    return Workspace(real, Path(os.path.realpath(real / runs)))
