"""Who writes kernels. The forge cannot tell one author from another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tilesmith.records import AuthorRequest, Prompt, Reply, Survey, Usage

if TYPE_CHECKING:
    from tilesmith.playbook.recipe import Match, Tuning


class OnProgress(Protocol):
    def __call__(self, characters: int, detail: str = "") -> None:
        """Told, while a reply comes in, how many characters have arrived so far, or what is done before it."""


@dataclass(frozen=True)
class RankedTunings:
    """The tunings of a match, most promising first."""

    tunings: tuple[Tuning, ...]
    is_timed: bool
    """Whether they were measured on this GPU, now or before."""
    note: str
    """How that was found out, in a line."""
    seconds: float = 0.0
    keeps_pytorch: str = ""
    """Why none of them is worth it, with numbers, where PyTorch was faster."""


class Tuner(Protocol):
    """Finds out which of a match's tunings are fast here. The real one is `forge.tuning.tuner.MeasuringTuner`."""

    def rank(self, survey: Survey, match: Match, tell: Callable[[str], None]) -> RankedTunings: ...


class Author(Protocol):
    """Answers requests, from several threads at once. Raises `AuthorError` when nobody is there to answer."""

    @property
    def name(self) -> str:
        """For people: `playbook`, `gpt-x at https://...`."""

    def dollars(self, usage: Usage) -> float | None:
        """What so many tokens cost; null when nobody knows."""

    def answer(self, request: AuthorRequest, prompt: Prompt, on_progress: OnProgress) -> Reply:
        """The reply to `prompt`, which is `request` in words."""
