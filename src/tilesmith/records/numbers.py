"""Numbers with bounds: what crosses the border between processes is checked against them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True)
class Range:
    """The bounds of a number, both allowed."""

    low: float
    high: float


Count = Annotated[int, Range(0, 1e15)]
"""No more than breaks arithmetic, and more than anything that is counted here."""
Amount = Annotated[float, Range(0, 1e15)]
Share = Annotated[float, Range(0, 1)]
