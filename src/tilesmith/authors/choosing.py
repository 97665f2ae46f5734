"""Which author a run has, as plain data, and the author made from it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tilesmith.authors.protocol import Author
from tilesmith.errors import UsageError
from tilesmith.llm.choosing import Choice
from tilesmith.llm.prices import Price
from tilesmith.llm.providers import Endpoint

AUTHORS = ("auto", "llm", "playbook", "replay")


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
    retries: int = 6
    call_timeout_s: float = 1800.0
    idle_timeout_s: float = 300.0

    @property
    def name(self) -> str:
        return self.endpoint.name if self.endpoint else self.kind


def choose_author(wanted: str, llm: Choice, recorded: Path | None) -> AuthorChoice:
    """auto: an LLM when one is configured, else the playbook."""
    if wanted not in AUTHORS:
        raise UsageError(f"unknown author '{wanted}': use {', '.join(AUTHORS)}")
    if recorded is not None and wanted in ("auto", "replay"):
        return AuthorChoice("replay", f"replays {recorded}", recorded=str(recorded.resolve()))
    if wanted == "replay" or recorded is not None:
        raise UsageError("to replay a run, name its folder: --replay RUN (and no other author)")
    if wanted == "llm" and llm.endpoint is None:
        raise UsageError(
            f"no LLM is configured: {llm.hint or 'name one with --model, see  tilesmith forge --help'}"
        )
    if wanted == "playbook" or llm.endpoint is None:
        asked = wanted == "playbook"
        return AuthorChoice(
            "playbook", "as asked" if asked else llm.hint or "no LLM is configured; --model names one"
        )
    return AuthorChoice("llm", "as configured", endpoint=llm.endpoint)


def make_author(choice: AuthorChoice, tell: Callable[[str], None]) -> Author:
    """`tell` hears in one line why a call has to wait. Imports only what this author needs."""
    if choice.kind == "replay" and choice.recorded is not None:
        from tilesmith.authors.replay import ReplayAuthor

        return ReplayAuthor(Path(choice.recorded))
    if choice.kind == "llm" and choice.endpoint is not None:
        from tilesmith.authors.llm import LlmAuthor
        from tilesmith.llm.patience import Limits, Patience

        limits = Limits(call_timeout_s=choice.call_timeout_s, idle_timeout_s=choice.idle_timeout_s)
        patience = Patience(retries=choice.retries, tell=tell)
        return LlmAuthor(choice.endpoint, os.environ, limits=limits, patience=patience, price=choice.price)
    from tilesmith.authors.playbook import PlaybookAuthor

    return PlaybookAuthor()
