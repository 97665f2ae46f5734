"""How far outputs are from the truth, as the reference measures it and the judge decides on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class WorstElement:
    """One of the elements that are farthest off."""

    index: tuple[int, ...]
    expected: str
    got: str


@dataclass(frozen=True)
class ExactStatistics:
    """An output of integers, booleans or indices."""

    kind: Literal["exact"]
    dtype: str
    numel: int
    mismatches: int
    worst: tuple[WorstElement, ...]


@dataclass(frozen=True)
class FloatStatistics:
    """An output of floating numbers: its errors against float64, and PyTorch's own."""

    kind: Literal["float"]
    dtype: str
    numel: int
    misplaced: int
    """Elements that are NaN or infinite where they should not be, or the other way round."""
    relative: float
    max_relative: float
    eager_relative: float
    eager_max_relative: float
    max_abs: float
    mean_abs: float
    effective: float
    """How many elements carry PyTorch's error; equal ones count once."""
    worst: tuple[WorstElement, ...]
    distinct: int | None = None
    """How many different numbers there are; null where there are too many to count."""


OutputStatistics = ExactStatistics | FloatStatistics


@dataclass(frozen=True)
class Comparison:
    """All outputs of one call against the truth, or why they are not even of the right form."""

    outputs: tuple[OutputStatistics, ...] = ()
    names: tuple[str, ...] = ()
    """How each output is reached: a position, a key, or several of them."""
    layout_problem: str | None = None
    truth_note: str | None = None
    """What stands in for truth where the model does not run in float64."""
    copied_from: str | None = None
    """The other draw whose answer these outputs are, if they are far from their own."""


@dataclass(frozen=True)
class CheatResult:
    """What came of one known cheat on one draw; all empty where it has nothing to show there."""

    comparison: Comparison | None = None
    identical: bool = False
    """It is PyTorch's own result, bit for bit."""
    inapplicable: str | None = None
