"""run.json: what a run was asked to do, where, and how it stands."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from tilesmith.errors import RunError
from tilesmith.records import from_json, to_json
from tilesmith.runs.atomic_files import write_atomically
from tilesmith.tasks.user_code.task_name import TaskName

FORMAT_VERSION = 2
"""1 spelled two phases `analyse` and `optimise`. Runs of that format can still be read, resumed and replayed."""


class Status(StrEnum):
    RUNNING = "running"
    """Or killed: then nobody holds the folder's lock."""
    STOPPED = "stopped"
    """By the user or for want of an author; can be resumed."""
    FINISHED = "finished"


@dataclass(frozen=True)
class Manifest:
    """The head of a run. Only its status ever changes, and the digest of its best.py with it."""

    task: str
    task_path: str
    task_sha256: str
    author: str
    created: str
    configuration: dict[str, Any]
    """`check`, `dials` and `author`: what a resumed run is configured from. Never a key."""
    environment: dict[str, Any] = field(default_factory=dict)
    status: Status = Status.RUNNING
    why: str = ""
    """Why it stopped."""
    format_version: int = FORMAT_VERSION
    task_name: TaskName | None = None
    """How the task was named; null in runs that could only be of a file, which `task_path` names."""
    own_files: dict[str, str] = field(default_factory=dict)
    """Digests of the user's own files that the task imports, by their path in the folder `task/`."""
    study: str = ""
    """The place it has in a study, such as `seeds 3`; empty for a run of its own."""
    best_sha256: str = ""
    """Of best.py as it was last written; empty where there is none, and in runs of before."""

    @property
    def model(self) -> str | None:
        """The LLM that writes, or wrote what is replayed; null for the playbook."""
        endpoint = self._part("author").get("endpoint")
        return str(endpoint["model"]) if isinstance(endpoint, dict) and "model" in endpoint else None

    @property
    def settings(self) -> dict[str, Any]:
        """How much is tried, by the names of the options."""
        return self._part("dials")

    @property
    def check(self) -> dict[str, Any]:
        """How kernels are judged, by the names of the options."""
        return self._part("check")

    def _part(self, name: str) -> dict[str, Any]:
        part = self.configuration.get(name)
        return part if isinstance(part, dict) else {}

    def with_status(self, status: Status, why: str = "") -> Manifest:
        return replace(self, status=status, why=why, format_version=FORMAT_VERSION)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    write_atomically(folder / "run.json", json.dumps(to_json(manifest), indent=2) + "\n")


def read_manifest(folder: Path) -> Manifest:
    path = folder / "run.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        version = int(data["format_version"])
    except FileNotFoundError:
        raise RunError(f"{folder}: not a run (it has no run.json); `tilesmith runs` lists them") from None
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise RunError(f"{path}: cannot be read: {error}") from None
    if version > FORMAT_VERSION:
        raise RunError(f"{path}: written by a newer tilesmith (format {version}); update tilesmith to read it")
    try:
        return from_json(Manifest, data)
    except ValueError as error:
        raise RunError(f"{path}: is damaged: {error}") from None
