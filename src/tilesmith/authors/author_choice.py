"""Which author a run has, as plain data, and the author made from it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tilesmith.authors.protocol import Author, Tuner
from tilesmith.errors import UsageError
from tilesmith.llm.endpoint_choice import LlmOptions, choose_endpoint
from tilesmith.llm.prices import Price, dollars
from tilesmith.llm.providers import Endpoint
from tilesmith.llm.retry import CallLimits, RetryPolicy
from tilesmith.records import Usage

AUTHORS = ("auto", "llm", "playbook")


@dataclass(frozen=True)
class AuthorChoice:
    """Who writes, and why them. Holds no key: an endpoint only names the variable that does."""

    kind: str
    why: str
    endpoint: Endpoint | None = None
    price: Price | None = None
    """The user's own, where they know better than the price list."""
    recorded: str | None = None
    """Folder of the run to replay."""
    retries: int = RetryPolicy.retries
    call_timeout_s: float = CallLimits.call_timeout_s
    idle_timeout_s: float = CallLimits.idle_timeout_s

    def __post_init__(self) -> None:
        if self.retries < 0:
            raise UsageError(f"--retries {self.retries}: must be at least 0")
        for option, value in (("--call-timeout", self.call_timeout_s), ("--idle-timeout", self.idle_timeout_s)):
            if not 0 < value < math.inf:
                raise UsageError(f"{option} {value:g}: must be a number of seconds greater than zero")

    @property
    def name(self) -> str:
        who = self.endpoint.name if self.endpoint else "playbook"
        return f"replay of {who}" if self.kind == "replay" else who


def choose_author(wanted: str, options: LlmOptions, environment: Mapping[str, str]) -> AuthorChoice:
    """auto: an LLM when one is configured, else the playbook, which needs no model, no key and no network."""
    if wanted == "replay":
        raise UsageError("to replay a run, name it: tilesmith forge --replay RUN")
    if wanted not in AUTHORS:
        raise UsageError(f"unknown author '{wanted}': use {', '.join(AUTHORS)}, or --replay RUN")
    if wanted == "playbook":
        return AuthorChoice("playbook", "as asked")
    llm = choose_endpoint(options, environment)
    if llm.endpoint is not None:
        return AuthorChoice("llm", "as configured", endpoint=llm.endpoint)
    if wanted == "llm":
        raise UsageError(f"no LLM is configured: {llm.hint or 'name one with --model'}")
    return AuthorChoice("playbook", llm.hint or "no LLM is configured; --model names one")


def as_replay(choice: AuthorChoice, recorded: Path) -> AuthorChoice:
    """The author of a recorded run, as one that repeats itself."""
    return replace(choice, kind="replay", why=f"repeats {choice.name}", recorded=str(recorded.resolve()))


def make_author(choice: AuthorChoice, notify: Callable[[str], None], tuner: Tuner | None = None) -> Author:
    """`notify` hears in one line why a call has to wait; `tuner` is for the playbook. Imports only what this author
    needs."""
    if choice.kind == "replay" and choice.recorded is not None:
        from tilesmith.authors.replay import ReplayAuthor

        return ReplayAuthor(Path(choice.recorded), lambda usage: _recorded_price(choice, usage), notify)
    from tilesmith.authors.playbook import PlaybookAuthor

    if choice.kind == "llm" and choice.endpoint is not None:
        from tilesmith.authors.assisted import AssistedAuthor
        from tilesmith.authors.llm import LlmAuthor

        limits = CallLimits(call_timeout_s=choice.call_timeout_s, idle_timeout_s=choice.idle_timeout_s)
        retry_policy = RetryPolicy(retries=choice.retries, notify=notify)
        llm = LlmAuthor(choice.endpoint, os.environ, limits=limits, retry_policy=retry_policy, price=choice.price)
        return AssistedAuthor(llm, PlaybookAuthor(tuner))
    return PlaybookAuthor(tuner)


def _recorded_price(choice: AuthorChoice, usage: Usage) -> float | None:
    return dollars(choice.endpoint, usage, choice.price) if choice.endpoint else 0.0
