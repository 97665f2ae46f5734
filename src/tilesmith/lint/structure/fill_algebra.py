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


class Fill(Enum):
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


def fill_of_number(number: float, otherwise: Fill = Fill.VALID) -> Fill:
    if number == 0:
        return Fill.ZERO
    if abs(number) >= FAR:
        return Fill.LOW if number < 0 else Fill.HIGH
    return otherwise


def applied(operation: str, fill: Fill) -> Fill:
    """A function of one value."""
    if fill is Fill.LOW and operation in LOW_TO_ZERO:
        return Fill.ZERO
    if fill is Fill.ZERO and operation in ZERO_TO_ZERO:
        return Fill.ZERO
    numeric = fill in (Fill.ZERO, Fill.OTHER) and operation in ZERO_TO_OTHER | ZERO_TO_ZERO
    return Fill.OTHER if numeric else Fill.UNKNOWN


def negated(fill: Fill) -> Fill:
    return {Fill.LOW: Fill.HIGH, Fill.HIGH: Fill.LOW}.get(fill, fill)


def added(left: Fill, right: Fill) -> Fill:
    sides = {left, right}
    if Fill.UNKNOWN in sides:
        return Fill.UNKNOWN
    if Fill.OPEN in sides or len(sides) == 1:
        return (sides - {Fill.OPEN} or {Fill.OPEN}).pop()
    if sides & {Fill.LOW, Fill.HIGH}:
        return Fill.UNKNOWN if {Fill.LOW, Fill.HIGH} <= sides else (sides & {Fill.LOW, Fill.HIGH}).pop()
    return Fill.OTHER


def multiplied(left: Fill, right: Fill) -> Fill:
    sides = {left, right}
    if Fill.ZERO in sides:
        return Fill.ZERO
    if Fill.OPEN in sides or Fill.VALID in sides:
        return (sides - {Fill.OPEN, Fill.VALID} or {Fill.VALID}).pop()
    return Fill.OTHER if sides == {Fill.OTHER} else Fill.UNKNOWN


def joined(fills: Iterable[Fill]) -> Fill:
    """The one all agree on."""
    found = set(fills) - {Fill.OPEN}
    return found.pop() if len(found) == 1 else Fill.UNKNOWN if found else Fill.OPEN
