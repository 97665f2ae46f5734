"""Who writes kernels. The forge cannot tell one author from another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tilesmith.records import AuthorRequest, Prompt, Reply, Usage

OnProgress = Callable[[int], None]
"""Told, while a reply comes in, how many characters have arrived so far."""


class Author(Protocol):
    """Answers requests, from several threads at once. Raises `AuthorError` when nobody is there to answer."""

    @property
    def name(self) -> str:
        """For people: `playbook`, `gpt-x at https://...`."""

    def dollars(self, usage: Usage) -> float | None:
        """What so many tokens cost; null when nobody knows."""

    def answer(self, request: AuthorRequest, prompt: Prompt, on_progress: OnProgress) -> Reply:
        """The reply to `prompt`, which is `request` in words."""
