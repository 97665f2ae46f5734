"""Exact tests for few runs or tasks: no assumption on how scores are distributed."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from itertools import combinations, compress, product
from statistics import fmean

MOST_SPLITS = 20_000
"""Enumerated; above that so many are drawn, always the same ones."""
_SLACK = 1e-9
"""Rounding: a split as extreme as what was seen counts as such."""
_LOWEST_BIT = bytes(number & 1 for number in range(256))
Groups = tuple[Sequence[float], Sequence[float]]
"""The values of the two sides of one comparison, both of one task."""


def mean_difference(strata: Sequence[Groups]) -> float:
    """How much larger the first side is, on average over the tasks."""
    return fmean(fmean(first) - fmean(second) for first, second in strata)


def permutation_test(strata: Sequence[Groups]) -> float:
    """The share of the ways to deal the values out, within each task, whose difference is at least as large as the
    one that was seen, either way: the probability of such a difference if the sides were the same."""
    seen = abs(mean_difference(strata)) - _SLACK
    count = math.prod(math.comb(len(first) + len(second), len(first)) for first, second in strata)
    if count <= MOST_SPLITS:
        deals = [abs(mean_difference(dealt)) >= seen for dealt in product(*map(_every_split, strata))]
        return sum(deals) / len(deals)
    chance = random.Random(0)
    drawn = ([_shuffled(one, chance) for one in strata] for _ in range(MOST_SPLITS))
    extreme = sum(abs(mean_difference(dealt)) >= seen for dealt in drawn)
    return (extreme + 1) / (MOST_SPLITS + 1)  # what was seen is one of them


def _every_split(groups: Groups) -> Iterator[Groups]:
    values = [*groups[0], *groups[1]]
    for chosen in combinations(range(len(values)), len(groups[0])):
        taken = set(chosen)
        yield [values[i] for i in chosen], [one for i, one in enumerate(values) if i not in taken]


def _shuffled(groups: Groups, chance: random.Random) -> Groups:
    values = [*groups[0], *groups[1]]
    chance.shuffle(values)
    return values[: len(groups[0])], values[len(groups[0]) :]


def sign_flip_test(differences: Sequence[float]) -> float:
    """The share of the ways to give each difference either sign whose sum is at least as far from zero as the one
    that was seen: the probability of such a sum if the two sides of every pair were the same."""
    total = sum(differences)
    seen = abs(total) - _SLACK
    if 2 ** len(differences) <= MOST_SPLITS:
        sums = [sum(compress(differences, flips)) for flips in product((0, 1), repeat=len(differences))]
        return sum(abs(total - 2 * flipped) >= seen for flipped in sums) / len(sums)
    chance = random.Random(0)
    drawn = (chance.randbytes(len(differences)).translate(_LOWEST_BIT) for _ in range(MOST_SPLITS))
    extreme = sum(abs(total - 2 * sum(compress(differences, flips))) >= seen for flips in drawn)
    return (extreme + 1) / (MOST_SPLITS + 1)


def mcnemar_test(gained: int, lost: int) -> float:
    """McNemar's exact test, two-sided: of the pairs that changed, so many changed one way and so many the other."""
    changed = gained + lost
    ways = sum(math.comb(changed, one) for one in range(min(gained, lost) + 1))
    return min(1.0, 2 * ways / (1 << changed))


def fisher_test(first: tuple[int, int], second: tuple[int, int]) -> float:
    """Fisher's exact test, two-sided: of two groups so many have a feature and so many do not."""
    with_it, total = first[0] + second[0], sum(first) + sum(second)
    ways = [
        math.comb(sum(first), have) * math.comb(sum(second), with_it - have)
        for have in range(max(0, with_it - sum(second)), min(with_it, sum(first)) + 1)
    ]
    seen = math.comb(sum(first), first[0]) * math.comb(sum(second), second[0])
    return sum(way for way in ways if way <= seen) / math.comb(total, with_it)
