"""Arithmetic on what lanes past the end hold."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from tilesmith.lint.vocabulary import words

FAR = 1e4
"""Beyond this a fill stands for infinity."""
ZERO_TO_ZERO = words("abs sqrt tanh sin erf sinh atan asin expm1 log1p floor ceil sqrt_rn")
ZERO_TO_OTHER = words("cos sigmoid exp exp2")
LOW_TO_ZERO = words("exp exp2 sigmoid")


class LaneFill(Enum):
    """The value of lanes past the end."""

    OPEN = "open"
    """Being worked out: what a loop carries."""
    VALID = "valid"
    """No such lanes: the same everywhere, or loaded without a mask."""
    ZERO = "zero"
    LOW = "low"
    HIGH = "high"
    OTHER = "other"
    """Some number that is neutral for nothing."""
    UNKNOWN = "unknown"


def fill_of_number(number: float, otherwise: LaneFill = LaneFill.VALID) -> LaneFill:
    if number == 0:
        return LaneFill.ZERO
    if abs(number) >= FAR:
        return LaneFill.LOW if number < 0 else LaneFill.HIGH
    return otherwise


def applied(operation: str, fill: LaneFill) -> LaneFill:
    """A function of one value."""
    if fill is LaneFill.LOW and operation in LOW_TO_ZERO:
        return LaneFill.ZERO
    if fill is LaneFill.ZERO and operation in ZERO_TO_ZERO:
        return LaneFill.ZERO
    numeric = fill in (LaneFill.ZERO, LaneFill.OTHER) and operation in ZERO_TO_OTHER | ZERO_TO_ZERO
    return LaneFill.OTHER if numeric else LaneFill.UNKNOWN


def negated(fill: LaneFill) -> LaneFill:
    return {LaneFill.LOW: LaneFill.HIGH, LaneFill.HIGH: LaneFill.LOW}.get(fill, fill)


def added(left: LaneFill, right: LaneFill) -> LaneFill:
    sides = {left, right}
    if LaneFill.UNKNOWN in sides:
        return LaneFill.UNKNOWN
    if LaneFill.OPEN in sides or len(sides) == 1:
        return (sides - {LaneFill.OPEN} or {LaneFill.OPEN}).pop()
    if sides & {LaneFill.LOW, LaneFill.HIGH}:
        return (
            LaneFill.UNKNOWN
            if {LaneFill.LOW, LaneFill.HIGH} <= sides
            else (sides & {LaneFill.LOW, LaneFill.HIGH}).pop()
        )
    return LaneFill.OTHER


def multiplied(left: LaneFill, right: LaneFill) -> LaneFill:
    sides = {left, right}
    if LaneFill.ZERO in sides:
        return LaneFill.ZERO
    if LaneFill.OPEN in sides or LaneFill.VALID in sides:
        return (sides - {LaneFill.OPEN, LaneFill.VALID} or {LaneFill.VALID}).pop()
    return LaneFill.OTHER if sides == {LaneFill.OTHER} else LaneFill.UNKNOWN


def joined(fills: Iterable[LaneFill]) -> LaneFill:
    """The one all agree on."""
    found = set(fills) - {LaneFill.OPEN}
    return found.pop() if len(found) == 1 else LaneFill.UNKNOWN if found else LaneFill.OPEN
