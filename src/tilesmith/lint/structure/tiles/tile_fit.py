"""Whether tiles go into a size."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple


class Fit(Enum):
    WHOLE = "whole"
    """Something shows that tiles go into the size, or that a remainder is left out."""
    RAGGED = "ragged"
    UNKNOWN = "unknown"


class TileFit(NamedTuple):
    fit: Fit
    size: str = ""
    """What the tiles run over, as written."""


UNKNOWN = TileFit(Fit.UNKNOWN)
WHOLE = TileFit(Fit.WHOLE)


def worst(verdicts: Iterable[TileFit]) -> TileFit:
    """Ragged if one is, whole if some are, else unknown."""
    known = [verdict for verdict in verdicts if verdict.fit is not Fit.UNKNOWN]
    return next((verdict for verdict in known if verdict.fit is Fit.RAGGED), known[0] if known else UNKNOWN)
