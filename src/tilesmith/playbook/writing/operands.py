"""An operand of an expression as Triton source."""

from __future__ import annotations

import math
from typing import Any

from tilesmith.playbook.graph.scalars import NamedNumber


def to_source(value: Any) -> str:
    """An operand as Triton source: a variable's name, a named number, or the number itself."""
    if isinstance(value, str):
        return value
    if isinstance(value, NamedNumber):
        return value.name
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)
