"""Requests to the process that runs a model which a command names: `tilesmith scan` and `tilesmith capture`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilesmith.process.protocol.codec import Request
from tilesmith.tasks.source import TaskSource


@dataclass(frozen=True)
class ScannedModel:
    text: str
    """What `print(tilesmith.scan(...))` shows."""
    document: dict[str, Any]
    """The same as data."""


@dataclass(frozen=True)
class ScanModel(Request[ScannedModel]):
    """Count what one call of the model moves and computes."""

    task: TaskSource
    gpu: str | None
    recipes: bool


@dataclass(frozen=True)
class CapturedGroup:
    """Equal calls of modules of one class."""

    call: str
    names: tuple[str, ...]
    calls: int


@dataclass(frozen=True)
class CapturedModel:
    groups: tuple[CapturedGroup, ...]
    refused: dict[str, str]
    """Modules whose calls nobody can describe, and why."""


@dataclass(frozen=True)
class CaptureModel(Request[CapturedModel]):
    """Run the model once and group the calls of its modules."""

    task: TaskSource
    where: tuple[str, ...]
    """Patterns over qualified names; none chooses every module."""


@dataclass(frozen=True)
class WrittenTask:
    file_name: str
    """Without its suffix."""
    text: str | None
    reason: str | None
    """Why there is no text."""


@dataclass(frozen=True)
class WriteTask(Request[WrittenTask]):
    """Make a task of one of the captured groups."""

    group: int
