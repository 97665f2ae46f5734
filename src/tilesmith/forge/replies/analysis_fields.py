"""The fields of an analysis as models spell and fill them."""

from __future__ import annotations

import math
import re
from typing import Any

from tilesmith.records import COMPLEXITIES

FIELDS = (
    "bottleneck",
    "optimization_method",
    "modification_plan",
    "expected_speedup",
    "implementation_complexity",
    "kernel_type",
    "fallback_strategy",
)
_SPELLINGS = {
    "bottleneck": ("bottleneck", "bottlenecks", "mainbottleneck", "primarybottleneck"),
    "optimization_method": (
        "optimisationmethod",
        "optimizationmethod",
        "optimisation",
        "optimization",
        "optimisationstrategy",
        "optimizationstrategy",
        "method",
    ),
    "modification_plan": ("modificationplan", "modificationsplan", "modifications", "plan"),
    "expected_speedup": ("expectedspeedup", "expectedspeedupfactor", "speedup", "estimatedspeedup"),
    "implementation_complexity": ("implementationcomplexity", "complexity"),
    "kernel_type": ("kerneltype", "typeofkernel"),
    "fallback_strategy": ("fallbackstrategy", "fallback", "fallbackplan"),
}
_FIELD_OF = {spelling: field for field, spellings in _SPELLINGS.items() for spelling in spellings}
_COMPLEXITY_WORDS = {
    "trivial": "low", "easy": "low", "simple": "low", "low": "low",
    "moderate": "medium", "mid": "medium", "medium": "medium",
    "hard": "high", "difficult": "high", "complex": "high", "high": "high",
    "persistent": "persistent",
}  # fmt: skip
_NUMBER = r"(\d{1,9}(?:\.\d{0,9})?(?:e[+-]?\d{1,3})?)"
_SPEEDUP = re.compile(rf"(-?)\s{{0,8}}{_NUMBER}\s{{0,8}}(%?)[x×]?\s{{0,8}}(?:(?:-|–|—|to|\.\.)\s{{0,8}}{_NUMBER})?")
_LONGEST_PLAIN = 20_000
"""Characters of one field that are kept: a plan is not a book."""


def find_fields(value: Any, depth: int = 4) -> dict[str, Any]:
    """Known fields of an object; of the one inside it that has most, where it is wrapped."""
    if not isinstance(value, dict | list) or not depth:
        return {}
    known: dict[str, Any] = {}
    if isinstance(value, dict):
        for key, content in value.items():
            field = _FIELD_OF.get(re.sub(r"[^a-z]", "", str(key).lower()[:100]))
            if field is not None:
                known.setdefault(field, content)
    inner = list(value.values()) if isinstance(value, dict) else value
    return max([known, *(find_fields(part, depth - 1) for part in inner[:50])], key=len)


def read_text(value: Any) -> str:
    """Prose; the items of a list or an object become lines."""
    if isinstance(value, list):
        return "\n".join(f"{i}. {read_text(item)}" for i, item in enumerate(value[:100], 1))[:_LONGEST_PLAIN]
    if isinstance(value, dict):
        parts = list(value.items())[:100]
        return "\n".join(f"{key}: {read_text(item)}" for key, item in parts)[:_LONGEST_PLAIN]
    whole = (
        "" if value is None else str(value).encode("utf-8", "replace").decode()
    )  # an escape may be half a character
    return whole.strip()[:_LONGEST_PLAIN]


def read_complexity(text: str) -> str | None:
    """The hardest of the levels it mentions; None if it mentions none."""
    words = re.findall(r"[a-z]+", text.lower()[:500])
    levels = {_COMPLEXITY_WORDS[word] for word in words if word in _COMPLEXITY_WORDS}
    return max(levels, key=COMPLEXITIES.index, default=None)


def read_speedup(value: Any) -> float | None:
    """A factor: 2.5, "2.5x", "1.5-2x" (its middle), "30%" (1.3); null stays unknown. Else ValueError."""
    if value is None:
        return None
    if isinstance(value, bool):
        raise ValueError("expected_speedup must be a number, not true or false")
    try:
        factor = float(value) if isinstance(value, int | float) else _factor(str(value))
    except OverflowError:
        factor = math.inf
    if factor is None or not math.isfinite(factor) or factor <= 0:
        raise ValueError("expected_speedup must be a positive, finite number such as 1.8")
    return factor


def _factor(text: str) -> float | None:
    match = _SPEEDUP.search(text[:200].lower())
    if match is None or match[1]:
        return None
    low = float(match[2])
    factor = (low + float(match[4])) / 2 if match[4] else low
    return 1 + factor / 100 if match[3] else factor
