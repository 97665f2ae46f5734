"""What a tool is: a name, its arguments as a JSON schema, and a function from a call to a document."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema

from tilesmith.errors import TilesmithError, UsageError
from tilesmith.judge.warm_judges import WarmJudges
from tilesmith.mcp.workspace import Workspace
from tilesmith.tasks.user_code.task_name import TaskName


class CallCancelled(TilesmithError):
    """The client no longer wants the result."""


@dataclass(frozen=True)
class ToolCall:
    """One call under way, in a thread of its own."""

    arguments: dict[str, Any]
    workspace: Workspace
    judges: WarmJudges
    notify: Callable[[str], None] = lambda line: None
    """Tells the client what is going on."""
    cancelled: threading.Event = field(default_factory=threading.Event)

    def progress(self, line: str) -> None:
        """Called between steps, so that a cancelled call ends at the next one."""
        if self.cancelled.is_set():
            raise CallCancelled("cancelled by the client")
        self.notify(line)

    def kernel(self) -> Path:
        return self.workspace.file(self.arguments["kernel"])

    def task(self) -> TaskName:
        given = self.arguments
        return self.workspace.task(given["task"], given.get("inputs"), given.get("path", ()))


@dataclass(frozen=True)
class AgentTool:
    name: str
    description: str
    properties: dict[str, Any]
    required: tuple[str, ...]
    run: Callable[[ToolCall], dict[str, Any]]
    changes_files: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": self.properties,
            "required": list(self.required),
            "additionalProperties": False,
        }

    def check_arguments(self, arguments: dict[str, Any]) -> None:
        error = jsonschema.exceptions.best_match(
            jsonschema.Draft202012Validator(self.schema).iter_errors(arguments)
        )
        if error is not None:
            where = f"argument {error.absolute_path[0]}: " if error.absolute_path else ""
            known = ", ".join(self.properties)
            raise UsageError(f"{self.name}: {where}{' '.join(error.message.split())[:300]}; it takes {known}")
