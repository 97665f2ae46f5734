"""Calls a scripted server the way an author does, without ever really waiting."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from scripted_server import ScriptedServer

from tilesmith.llm.client import Client
from tilesmith.llm.providers import OWN_KEY, Endpoint
from tilesmith.llm.retry import CallLimits, RetryPolicy
from tilesmith.records import Prompt, Reply

CANARY = "sk-canary-0123456789abcdef"
NOON = 1_800_000_000.0
PROMPT = Prompt("You write kernels.", "# Request: seed 1 of 1\nWrite one.")


@dataclass
class Caller:
    """A client, what it waited for, and what it heard."""

    server: ScriptedServer
    limits: CallLimits = CallLimits(idle_timeout_s=5, call_timeout_s=20)  # noqa: RUF009 - frozen
    policy: dict[str, Any] = field(default_factory=dict)
    waits: list[float] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    progress: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        calm = {"sleep": self.waits.append, "now": lambda: NOON, "notify": self.told.append, "chance": lambda: 1.0}
        endpoint = Endpoint("scripted-1", self.server.base_url, None, OWN_KEY)
        self.client = Client(endpoint, RetryPolicy(**{**calm, **self.policy}), {OWN_KEY: CANARY})

    def call(self, prompt: Prompt = PROMPT) -> Reply:
        return self.client.complete(prompt, self.limits, self.progress.append)
