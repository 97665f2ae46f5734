"""What a recipe is: expert knowledge about one family of tasks, as code that writes kernels.

A recipe looks at a task's graph and either declines in one line or returns a match. A match explains itself the
way a model would (an `Analysis`) and writes a whole file with `ModelNew` for any of its tunings. To add a family:
one file in `recipes/` with an object of this protocol, one line in `recipes/__init__.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tilesmith.records import Analysis, Survey
from tilesmith.tasks.graph import Graph


@dataclass(frozen=True)
class Tuning:
    """The named constants at the top of a written file: block sizes, warps, rows per program."""

    values: tuple[tuple[str, int], ...]

    def __getitem__(self, name: str) -> int:
        return dict(self.values)[name]

    def __contains__(self, name: str) -> bool:
        return name in dict(self.values)

    def changed(self, name: str, value: int) -> Tuning:
        return Tuning(tuple((key, value if key == name else old) for key, old in self.values))

    def __str__(self) -> str:
        return ", ".join(f"{name} = {value}" for name, value in self.values)


@dataclass(frozen=True)
class Declined:
    """Why a recipe does not apply, in one line."""

    reason: str
    is_its_kind: bool = False
    """Whether the task is of the recipe's kind and declined all the same: then the others need not be asked."""


class Match(Protocol):
    """A recipe that applies to a task."""

    @property
    def tunings(self) -> tuple[Tuning, ...]:
        """Worth trying, best guess first."""

    def variations(self, tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
        """Neighbours of a tuning that a stage (grid, block, memory) may try, most promising first."""

    def write(self, tuning: Tuning) -> str:
        """The complete source of ModelNew. The same tuning always gives the same text."""

    def strategy(self, tuning: Tuning) -> str:
        """What the written kernel does, in a sentence."""

    def analysis(self) -> Analysis:
        """What limits the task and what this recipe does about it."""


class Recipe(Protocol):
    @property
    def name(self) -> str:
        """Short and unique: `elementwise`."""

    def match(self, survey: Survey, graph: Graph) -> Match | Declined: ...
