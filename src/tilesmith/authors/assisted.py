"""An author that the playbook helps: it writes the first seed, at no cost, and the other improves on that."""

from __future__ import annotations

from dataclasses import replace

from tilesmith.authors.playbook import PlaybookAuthor
from tilesmith.authors.protocol import Author, OnProgress
from tilesmith.records import AuthorRequest, Prompt, Reply, StopReason, Usage


class AssistedAuthor:
    """Hands the requests for the playbook's own kernel to the playbook, and all others on."""

    def __init__(self, author: Author, playbook: PlaybookAuthor) -> None:
        self._author, self._playbook = author, playbook

    @property
    def name(self) -> str:
        return self._author.name

    def dollars(self, usage: Usage) -> float | None:
        return self._author.dollars(usage)

    def answer(self, request: AuthorRequest, prompt: Prompt, on_progress: OnProgress) -> Reply:
        if not request.by_playbook:
            return self._author.answer(request, prompt, on_progress)
        reply = self._playbook.answer(request, prompt, on_progress)
        if reply.stop is StopReason.KEEPS_PYTORCH:  # which is for the other to say
            return replace(reply, text="the playbook has no kernel for this task", stop=StopReason.DECLINED)
        return reply
