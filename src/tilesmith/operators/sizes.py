"""The shapes an operator is tested on where its definition names none, and second values of its scalars."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from tilesmith.operators.records import LEADING, Number, Operator, OperatorParameter, Sizes

_ACCURACY: dict[int, list[tuple[int, ...]]] = {
    1: [(1,), (37,), (1024,), (16411,), (0,)],
    2: [(1, 1), (37, 53), (64, 128), (3, 4099), (131, 33), (0, 53)],
    3: [(1, 1, 1), (37, 53, 41), (32, 64, 128), (3, 1031, 67), (0, 37, 53)],
    4: [(1, 1, 1, 1), (2, 3, 37, 13), (2, 4, 32, 64), (1, 3, 257, 67), (0, 3, 5, 7)],
}
"""One element, primes, powers of two, long, tall, and nothing at all."""
_PERFORMANCE: dict[int, list[tuple[int, ...]]] = {
    1: [(1 << 20,), (1 << 24,)],
    2: [(4096, 4096), (65536, 512), (1024, 16384)],
    3: [(4096, 4096, 4096), (8192, 1024, 1024)],
    4: [(8, 16, 1024, 128), (4, 32, 4096, 64)],
}
_MOST_ELEMENTS = 1 << 15
"""Of a tensor, for accuracy: small enough for Triton's interpreter."""
_MOST_TIMED = 1 << 28
"""The same for performance: a GPU holds several."""


def accuracy_sizes(operator: Operator) -> tuple[Sizes, ...]:
    """Where nothing has a size, indices are still below something."""
    names = sorted(operator.size_names, key=[one.below for one in operator.tensors].count)
    found = _classes(names, _ACCURACY)
    return tuple(_within_limit(operator, sizes, _MOST_ELEMENTS, lambda size: size // 2 | 1) for sizes in found)


def performance_sizes(operator: Operator) -> tuple[Sizes, ...]:
    found = _classes(operator.size_names, _PERFORMANCE)
    return different(_within_limit(operator, sizes, _MOST_TIMED, lambda size: size // 2) for sizes in found)


def different(found: Iterable[Sizes]) -> tuple[Sizes, ...]:
    """Each once."""
    several = list(found)
    return tuple(one for place, one in enumerate(several) if one not in several[:place])


def _within_limit(operator: Operator, sizes: Sizes, most: int, smaller: Callable[[int], int]) -> Sizes:
    """The largest size made smaller, as long as a tensor is too large."""
    while max(math.prod(shape_of(one, sizes)) for one in operator.tensors) > most:
        largest = max((name for name in sizes if name != LEADING), key=lambda name: sizes[name], default=None)
        if largest is None or not isinstance(size := sizes[largest], int) or size < 4:
            break
        sizes = {**sizes, largest: smaller(size)}
    return sizes


def shape_of(one: OperatorParameter, sizes: Sizes) -> tuple[int, ...]:
    known = [sizes[size] if isinstance(size, str) else size for size in one.shape]
    return tuple(n for size in known for n in (size if isinstance(size, tuple) else (size,)))


def _classes(names: Sequence[str], known: dict[int, list[tuple[int, ...]]]) -> tuple[Sizes, ...]:
    """Beyond four names, the further sizes are small."""
    if not names:
        return ({},)
    rows = known[min(len(names), max(known))]
    whole = [(*row, *(min(row[-1], 3) for _ in names[len(row) :])) for row in rows]
    return tuple(
        {name: _leading(size) if name == LEADING else size for name, size in zip(names, row, strict=True)}
        for row in whole
    )


def _leading(size: int) -> tuple[int, ...]:
    """So many elements, in different numbers of dimensions."""
    if size == 1:
        return ()
    return (2, size // 2) if size and size % 2 == 0 else (size,)


def is_empty(sizes: Sizes) -> bool:
    return any(size == 0 or (isinstance(size, tuple) and 0 in size) for size in sizes.values())


def ordinary_place(operator: Operator) -> int:
    """Among the sizes for accuracy, the one that layouts and other values are tried on: neither empty nor, where
    there is another, the first, which may be one element."""
    ordinary = [place for place, sizes in enumerate(operator.accuracy) if not is_empty(sizes)]
    return ordinary[min(1, len(ordinary) - 1)] if ordinary else 0


def size_text(sizes: Sizes) -> str:
    """`M=37 N=53`"""
    return " ".join(f"{name}={'x'.join(map(str, n)) if isinstance(n, tuple) else n}" for name, n in sizes.items())


def usual_value(operator: Operator, name: str) -> Number:
    """What the tests pass for a scalar, and what a kernel is written for: of floats of which nothing is said, 0.5,
    then 0.75, 0.875 and so on, so that no two are alike."""
    scalar = next(one for one in operator.scalars if one.name == name)
    plain: dict[str, Number] = {"int": 2, "bool": True, "str": ""}
    if scalar.values or scalar.annotation in plain:
        return scalar.values[0] if scalar.values else plain[scalar.annotation]
    unsaid = [one.name for one in operator.scalars if not one.values and one.annotation not in plain]
    return 1 - 0.5 ** (1 + unsaid.index(name))


def other_values(operator: Operator, name: str) -> tuple[Number, ...]:
    """What else is tried: the other values that are named, and one more where another can be told."""
    scalar, usual = next(one for one in operator.scalars if one.name == name), usual_value(operator, name)
    return tuple(dict.fromkeys(one for one in (*scalar.values[1:], other_value(usual)) if one != usual))


def is_free(operator: Operator, name: str) -> bool:
    """Whether a scalar is an argument of the kernel: a float, unless the kernel is written for one value of it."""
    scalar = next(one for one in operator.scalars if one.name == name)
    return isinstance(usual_value(operator, name), float) and not scalar.fixed


def traced_value(operator: Operator, name: str) -> Number:
    """What a kernel is written with: a float that is like no other number in it, or of another scalar."""
    value = usual_value(operator, name)
    if not isinstance(value, float) or not is_free(operator, name):
        return value
    names = [one.name for one in operator.scalars if usual_value(operator, one.name) == value]
    value *= 1 + 0.0171 * names.index(name)
    return value * 1.3713 if 0 < abs(value) < 0.01 else value * 0.7371 + 0.0131 * (1 + names.index(name))


def other_value(value: Number) -> Number:
    """Another number or truth value. A float gives another result, in a half type and for an epsilon, too: that
    becomes large. A share stays one."""
    if isinstance(value, bool):
        return not value
    if not isinstance(value, float):
        return value + 1 if isinstance(value, int) else value
    if 0 < abs(value) < 0.01:
        return math.copysign(0.125, value)
    return (value + 1) / 2 if 0 < value < 1 else value * 1.5 + math.copysign(0.25, value)
