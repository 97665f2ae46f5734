"""A request in words. Same request, same text; nothing is asked of the world but the package's own files."""

from __future__ import annotations

from tilesmith.llm.prompts.facts import gather_facts
from tilesmith.llm.prompts.rendering import render
from tilesmith.records import AuthorRequest, Prompt

__all__ = ["write_prompt"]


def write_prompt(request: AuthorRequest) -> Prompt:
    """What every author is sent: who it is, and what is wanted now."""
    facts = gather_facts(request)
    return Prompt(system=render("system", facts), user=render(request.phase.value, facts))
