"""Which keys a query of an attention sees at all, where that follows from their places: those of a band around the
diagonal. Tiles beyond it need not be computed."""

from __future__ import annotations

from typing import Any, NamedTuple

from tilesmith.playbook.graph.steps import CAST, CONSTANT, INDEX, LEAF, PRODUCT, VIEW, KernelStep

_NOTHING = -1e9
"""A score from which on a weight is zero, whatever the others are, unless all of them are so low."""
_OPPOSITE = {"le": "gt", "gt": "le", "ge": "lt", "lt": "ge"}
_ANDS, _ORS = ("logical_and", "bitwise_and"), ("logical_or", "bitwise_or")


class Band(NamedTuple):
    """`key - query` from `least` to `most`; None where there is no end."""

    least: int | None = None
    most: int | None = None

    def within(self, other: Band) -> Band:
        least = [one for one in (self.least, other.least) if one is not None]
        most = [one for one in (self.most, other.most) if one is not None]
        return Band(max(least, default=None), min(most, default=None))


class _PlaceSum(NamedTuple):
    """A number made of places: `row * i + column * j + more`."""

    row: int
    column: int
    more: int


def find_band(scores: KernelStep, has_softmax: bool, is_square: bool) -> Band:
    """Where weights are not zero. `is_square`: there are as many keys as queries."""
    return _seen(scores, has_softmax, is_square)


def _seen(step: Any, is_score: bool, is_square: bool) -> Band:
    """Where a score is not lower than any other, or a weight is not zero."""
    if not isinstance(step, KernelStep):
        return Band()
    operands = step.operands
    if step.op == CAST or (step.op == "relu" and not is_score):
        return _seen(operands[0], is_score, is_square)
    if step.op == "exp" and not is_score:
        return _seen(operands[0], True, False)
    if (step.op == "add" and is_score) or (step.op == "mul" and not is_score):
        return _seen(operands[0], is_score, is_square).within(_seen(operands[1], is_score, is_square))
    if step.op in ("where", "masked_fill"):
        (kept, given, other), truth = operands, True
        if step.op == "masked_fill":
            (given, kept, other), truth = operands, False
        band = _true(kept, truth)
        if _is_nothing(other, given, band, is_score, is_square):
            return band.within(_seen(given, is_score, is_square))
    return Band()


def _is_nothing(number: Any, given: Any, band: Band, is_score: bool, is_square: bool) -> bool:
    """Whether a number in the place of others makes a weight of zero. A score that is merely low does so where each
    row has others: those of the diagonal, which nothing else masks."""
    if not isinstance(number, int | float):
        return False
    if not is_score:
        return number == 0
    meets = (band.least or 0) <= 0 <= (band.most or 0)
    return number == float("-inf") or (number <= _NOTHING and is_square and meets and not _may_be_masked(given))


def _may_be_masked(step: Any) -> bool:
    if not isinstance(step, KernelStep) or step.op == PRODUCT:
        return False
    return step.op in (LEAF, "where", "masked_fill") or any(map(_may_be_masked, step.operands))


def _true(step: Any, truth: bool) -> Band:
    """Where a condition may be true, or false; everywhere, if places do not say."""
    if not isinstance(step, KernelStep) or len(step.operands) == 0:
        return Band()
    first, *others = step.operands
    if step.op in _ANDS and any(map(_is_one, step.operands)):
        return _true(others[0] if _is_one(first) else first, truth)
    if step.op in (_ANDS if truth else _ORS):
        return _true(first, truth).within(_true(others[0], truth))
    if step.op in ("logical_not", "bitwise_not"):
        return _true(first, not truth)
    if step.op in ("eq", "ne") and others[0] == 0:
        return _true(first, truth == (step.op == "ne"))
    if step.op == "where" and others[1] == 0 and _is_one(others[0]):
        return _true(first, truth)
    if step.op == CAST or (step.op == VIEW and step.form.dims[-2:] == first.form.dims[-2:]):
        return _true(first, truth)
    return _compared(step.op if truth else _OPPOSITE[step.op], first, others[0]) if step.op in _OPPOSITE else Band()


def _is_one(step: Any) -> bool:
    return isinstance(step, KernelStep) and step.op == CONSTANT and bool(step.options["value"])


def _compared(op: str, left: Any, right: Any) -> Band:
    one, other = _linear(left), _linear(right)
    if one is None or other is None:
        return Band()
    row, column, more = (a - b for a, b in zip(one, other, strict=True))
    if row + column or abs(column) != 1:
        return Band()
    if column < 0:  # the other way around
        more, op = -more, {"le": "ge", "ge": "le", "lt": "gt", "gt": "lt"}[op]
    bound = -more  # key - query is less, or more, than this
    return {
        "le": Band(None, bound),
        "lt": Band(None, bound - 1),
        "ge": Band(bound, None),
        "gt": Band(bound + 1, None),
    }[op]


def _linear(step: Any) -> _PlaceSum | None:
    if type(step) is int:
        return _PlaceSum(0, 0, step)
    if not isinstance(step, KernelStep):
        return None
    if step.op in (CAST, VIEW):
        found, inner = _linear(step.operands[0]), step.operands[0].form
        if step.op == CAST or found is None or (found.row, found.column) == (0, 0):
            return found
        wide = [place for place, size in enumerate(reversed(step.form.shape)) if size != 1]
        if len(wide) != 1 or sum(size != 1 for size in inner.shape) != 1:
            return None
        return _at(wide[0], found.row + found.column, found.more)
    if step.op == INDEX and not step.operands and not {"least", "most"} & step.options.keys():
        offset = step.options.get("offset", ())
        if any(dim for _, dim in offset):
            return None
        place = step.form.rank - 1 - step.options["dim"]
        return _at(place, step.options.get("scale", 1), sum(count for count, _ in offset))
    if step.op in ("add", "sub") and len(step.operands) == 2:
        one, other = map(_linear, step.operands)
        sign = 1 if step.op == "add" else -1
        if one is None or other is None:
            return None
        return _PlaceSum(*(a + sign * b for a, b in zip(one, other, strict=True)))
    return None


def _at(place: int, scale: int, more: int) -> _PlaceSum | None:
    """Counted along a dimension, the last being 0."""
    return {0: _PlaceSum(0, scale, more), 1: _PlaceSum(scale, 0, more)}.get(place)
