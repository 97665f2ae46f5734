"""Arithmetic that makes a set of sizes small while keeping what holds between them.

Sizes are rarely independent: channels divide by groups, hidden is heads times dim, a power of two
is one for a reason. A map from old to new values is useful only where such relations survive.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import lcm

SMALLEST_SIZE = 8


def is_power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


def shrink_value(value: int, limit: int, divisors: Iterable[int], strict: bool = False) -> int:
    """The size nearest `limit` from below that is the same kind of number as `value`.

    It stays a power of two (or not), odd or even, and a multiple of each of `divisors` that
    divides `value`: as far as `limit` leaves room, or whatever it takes if `strict`. It stays larger
    than they are: with one channel a group, GroupNorm is constant and any kernel is right.
    """
    room = value if strict else limit
    kept = [d for d in divisors if 1 < d < value and value % d == 0 and d <= room]
    step = _common_multiple(kept, room)
    limit = max([limit, step, *(2 * d for d in kept if step % d == 0)])
    if value <= limit:
        return value
    kind = is_power_of_two(value)
    alike = [n for n in range(limit, 1, -1) if n % step == 0 and is_power_of_two(n) == kind]
    same_parity = [n for n in alike if n % 2 == value % 2]
    dividing = [n for n in same_parity if value % n == 0 and n > limit // 2]
    return next(iter(dividing or same_parity or alike or [limit - limit % step]))


def _common_multiple(divisors: Iterable[int], limit: int) -> int:
    """The least common multiple of as many divisors as fit below `limit`, small ones first."""
    step = 1
    for divisor in sorted(set(divisors)):
        if lcm(step, divisor) <= limit:
            step = lcm(step, divisor)
    return step


def clamp(values: Iterable[int], limit: int, divisors: Iterable[int]) -> dict[int, int]:
    """Every value above `limit` comes down to it; what was different may become equal."""
    fixed = list(divisors)
    return {value: shrink_value(value, limit, fixed) for value in set(values)}


def spread(values: Iterable[int], limit: int, divisors: Iterable[int], strict: bool = False) -> dict[int, int]:
    """Like `clamp`, but different sizes stay different where there is room, and in order.

    A kernel that swaps M and N is right when M equals N, so equal sizes hide its fault.
    """
    fixed = list(divisors)
    smallest = max(SMALLEST_SIZE, limit // 4)
    result: dict[int, int] = {}
    ceiling = limit
    for value in sorted(set(values), reverse=True):
        result[value] = shrink_value(value, ceiling, fixed, strict)
        if result[value] > smallest:
            ceiling = max(smallest, min(ceiling, result[value]) // 2)
    return result


def keep_products(mapping: dict[int, int], factors: Iterable[int]) -> dict[int, int]:
    """`mapping` with a = b * c kept: hidden = heads * dim, features = height * width."""
    new = {factor: factor for factor in factors} | mapping
    known = sorted(factor for factor in new if factor > 1)
    for value in sorted(mapping):
        for factor in reversed(known):
            other = value // factor
            if value % factor == 0 and 1 < other <= factor < value and other in new:
                new[value] = new[factor] * new[other]
                break
    return {value: new[value] for value in mapping}


def keep_ratios(values: Iterable[int], limit: int) -> dict[int, int]:
    """All values divided by one power of two, as large as the smallest of them allows."""
    mapping = {value: value for value in set(values)}
    while (
        mapping
        and max(mapping.values()) > limit
        and all(size % 2 == 0 and size > SMALLEST_SIZE for size in mapping.values())
    ):
        mapping = {value: size // 2 for value, size in mapping.items()}
    return mapping


def make_ragged(value: int, divisors: Iterable[int], by: int) -> int:
    """A size near `value` that no tile divides, still a multiple of its fixed divisors if possible."""
    step = _common_multiple((d for d in divisors if 1 < d < value and value % d == 0), value // 2)
    if step > 1:
        return value + step if by > 0 or value <= 2 * step else value - step
    ragged = max(value + by, value // 2 + 1)
    ragged += (1 if by > 0 else -1) * (ragged % 2 == 0)
    return ragged if ragged > 2 else value
