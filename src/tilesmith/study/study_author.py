"""An author who is asked for part of a run only, because that part is what is studied."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tilesmith.authors.protocol import Author, OnProgress
from tilesmith.records import AuthorRequest, Phase, Prompt, Reply, StopReason, Usage

Refusal = Callable[[AuthorRequest], str | None]
"""Why a request is not passed on; null where it is."""


class StudyAuthor:
    """Passes on what the study wants to know and declines the rest."""

    def __init__(self, author: Author, refusal: Refusal, first_seed: int = 1) -> None:
        """The playbook has one kernel per number of a seed, so that seeds of several runs start from `first_seed`;
        a model is asked in the same words every time."""
        self._author, self._refusal, self._first_seed = author, refusal, first_seed

    @property
    def name(self) -> str:
        return self._author.name

    def dollars(self, usage: Usage) -> float | None:
        return self._author.dollars(usage)

    def answer(self, request: AuthorRequest, prompt: Prompt, on_progress: OnProgress) -> Reply:
        why = self._refusal(request)
        if why is not None:
            return Reply(why, self.name, StopReason.DECLINED)
        if request.phase is Phase.SEED:
            request = replace(request, seed=self._first_seed + request.seed - 1)
        return self._author.answer(request, prompt, on_progress)


def seeds_alone(request: AuthorRequest) -> str | None:
    """One reply per seed, as it comes: neither repaired nor revised nor asked for again."""
    if request.phase is not Phase.SEED or request.complaint is not None:
        return "a study of seeds asks for each seed once and for nothing else"
    return None


def everything(request: AuthorRequest) -> str | None:
    return None


def analysis_where_slow(request: AuthorRequest) -> str | None:
    """The analysis is optional: a kernel that is as fast as PyTorch already does without."""
    score = request.base.score if request.base else None
    if request.phase in (Phase.ANALYZE, Phase.OPTIMIZE) and score is not None and score >= 1:
        return f"not needed: the best kernel is at {score:.2f}x already"
    return None
