"""Which expression over sizes gives a number at every shape that a pass was traced at.

Forms are tried from simple to less simple, and the first that holds in all traces is taken. Where several sizes
are the same in all of them, nobody can tell which of them the code meant: they are named, and a launcher asks that
they are equal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, permutations, product
from typing import Any, Generic, NamedTuple, TypeVar

from tilesmith.tasks.numbers.varying import Values, values_of

K = TypeVar("K", bound=Hashable)
_MOST_ADDED, _MOST_DIVIDED, _MOST_MULTIPLIED = 16, 1024, 6
_POWERS: tuple[tuple[float, str, str], ...] = (
    (1, "{0}", ""),
    (-1, "1 / {0}", "inverse_"),
    (0.5, "{0} ** 0.5", "root_"),
    (-0.5, "{0} ** -0.5", "inverse_root_"),
    (2, "{0} ** 2", "square_"),
    (-2, "{0} ** -2", "inverse_square_"),
)
"""Exponents, how they are written, and what a kernel calls such a number."""
_QUOTIENTS: tuple[tuple[str, Callable[[float, float], float]], ...] = (
    ("{{0}} // {0}", lambda size, by: size // by),
    ("-(-{{0}} // {0})", lambda size, by: -(-size // by)),
    ("{{0}} // {0} * {0}", lambda size, by: size // by * by),
    ("-(-{{0}} // {0}) * {0}", lambda size, by: -(-size // by) * by),
    ("-{{0}} % {0}", lambda size, by: -size % by),
    ("{{0}} % {0}", lambda size, by: size % by),
)
"""A size divided by a number: rounded down, up, to a multiple, and what is missing or left."""
_OF_TWO: tuple[tuple[str, Callable[[float, float], float]], ...] = (
    ("{0} // {1}", lambda a, b: a // b if b else -1),
    ("{0} + {1}", lambda a, b: a + b),
    ("{0} - {1}", lambda a, b: a - b),
)


@dataclass(frozen=True)
class SizeExpression(Generic[K]):
    """A number as an expression over sizes."""

    template: str
    """`{0} // 2`"""
    sizes: tuple[K, ...]
    """What {0}, {1} and so on are."""
    equal: tuple[tuple[K, ...], ...] = ()
    """For each of them the sizes that are the same in all traces, itself first."""
    word: str = ""
    """What is done with the size, as the beginning of a name: `root_`."""
    divisor: int | None = None
    """What divided the size in all traces: nobody knows how the code would round."""

    def write(self, write: Callable[[K], str]) -> str:
        return self.template.format(*(_grouped(write(one)) for one in self.sizes))


def _grouped(text: str) -> str:
    return f"({text})" if " " in text else text


def explain(number: float, sizes: Mapping[K, Any]) -> SizeExpression[K] | None:
    """The simplest expression over the sizes that vary; None where there is none, or the number does not vary.

    Where several divisors would do, it is the one that is among the sizes that do not vary.
    """
    wanted = values_of(number)
    if wanted is None:
        return None
    if isinstance(number, int):
        wanted = tuple(map(int, wanted))  # of 3.0, which equals 3, nothing whole would be made
    known: dict[Values, list[K]] = {}
    for key, size in sizes.items():
        if isinstance(size, int) and (values := values_of(size)) is not None:
            known.setdefault(tuple(map(int, values)), []).append(key)
    fixed = frozenset(size for size in sizes.values() if type(size) is int)
    found = _simplest(wanted, tuple(known), isinstance(number, int), fixed)
    if found is None:
        return None
    equal = tuple(tuple(known[one]) for one in found.sizes)
    return SizeExpression(found.template, tuple(keys[0] for keys in equal), equal, found.word, _divisor(found))


def _divisor(form: _Form) -> int | None:
    quotient = re.search(r"\{0\} // (\d+)", form.template)
    by = int(quotient[1]) if quotient else 1
    return by if by > 1 and all(size % by == 0 for size in form.sizes[0]) else None


class _Form(NamedTuple):
    template: str
    sizes: tuple[Values, ...]
    word: str = ""


class _Base(NamedTuple):
    """What a form may be about: a size, or a product of some."""

    text: str
    sizes: tuple[Values, ...]
    values: Values


@cache
def _simplest(wanted: Values, sizes: tuple[Values, ...], is_whole: bool, fixed: frozenset[int]) -> _Form | None:
    if max(wanted) < 0:
        found = _simplest(tuple(-one for one in wanted), sizes, is_whole, fixed)
        return found and found._replace(template=f"-({found.template})", word=f"minus_{found.word}")
    return next(_whole_forms(wanted, sizes, fixed) if is_whole else _float_forms(wanted, sizes), None)


def _products(sizes: Sequence[Values]) -> list[_Base]:
    found: list[_Base] = []
    for count in (2, 3, 4):
        text = " * ".join(f"{{{i}}}" for i in range(count))
        for several in combinations(sizes[:_MOST_MULTIPLIED], count):
            found.append(_Base(text, several, tuple(map(math.prod, zip(*several, strict=True)))))
    return found


def _whole_forms(wanted: Values, sizes: Sequence[Values], fixed: Collection[int]) -> Iterator[_Form]:
    yield from (_Form("{0}", (one,)) for one in sizes if one == wanted)
    linear = [(form, one) for one in sizes if (form := _linear(wanted, one)) is not None]
    yield from (_Form(form.template, (one,)) for form, one in linear if form.is_usual)
    for (template, compute), one in product(_QUOTIENTS, sizes):
        most = min(_MOST_DIVIDED, int(max(one)))
        found = [by for by in range(2, most + 1) if tuple(compute(size, by) for size in one) == wanted]
        several = len(found) > 1
        found = [by for by in found if by in fixed] if several else found
        if several and len(found) != 1 and "%" not in template:
            return  # nobody knows which, and what comes later would be an accident
        if len(found) == 1 and ("%" not in template or found[0] in fixed or len(set(one)) > 2):
            yield _Form(template.format(found[0]), (one,))
    for base in _products(sizes):
        if (form := _linear(wanted, base.values)) is not None and form.is_usual:
            yield _Form(form.template.replace("{0}", base.text), base.sizes)
    for a, b in permutations(sizes, 2):
        for template, compute in _OF_TWO:
            if tuple(map(compute, a, b)) == wanted:
                yield _Form(template, (a, b))
    yield from (_Form(form.template, (one,)) for form, one in linear if len(set(one)) > 2)


class _Linear(NamedTuple):
    template: str
    is_usual: bool
    """Whether what is added is small: it may be an accident otherwise."""


def _linear(wanted: Values, one: Values) -> _Linear | None:
    """`a * {0} + b`"""
    other = next((i for i, size in enumerate(one) if size != one[0]), None)
    if other is None:
        return None
    factor, rest = divmod(wanted[other] - wanted[0], one[other] - one[0])
    more = wanted[0] - factor * one[0]
    if rest or not factor or any(factor * a + more != b for a, b in zip(one, wanted, strict=True)):
        return None
    if factor == -1 and more > 0:
        return _Linear(f"{more} - {{0}}", False)
    times = "{0}" if factor == 1 else f"{factor} * {{0}}"
    template = f"{times} {'+' if more > 0 else '-'} {abs(more)}" if more else times
    return _Linear(template, abs(more) <= _MOST_ADDED and factor > 0)


def _float_forms(wanted: Values, sizes: Sequence[Values]) -> Iterator[_Form]:
    """`c * base ** p` or `c * log(base)`, where the base is a size, a product, one less, or a part of a size."""
    bases = [_Base("{0}", (one,), one) for one in sizes]
    bases += [base._replace(text=f"({base.text})") for base in _products(sizes)]
    bases += [_Base(f"({text} - 1)", used, tuple(one - 1 for one in values)) for text, used, values in bases]
    for one in sizes:
        bases += [_Base(f"({{0}} // {by})", (one,), tuple(size // by for size in one)) for by in range(2, 65)]
    for plain in (True, False):
        for base in bases:
            if min(base.values) <= 0:
                continue
            for power, template, word in _POWERS:
                text = template.replace("{0}", base.text)
                if found := _scaled(wanted, tuple(one**power for one in base.values), text, plain):
                    yield _Form(found, base.sizes, word if plain else "scaled_")
            if min(base.values) > 1:
                text = f"math.log({base.text.removeprefix('(').removesuffix(')')})"
                if found := _scaled(wanted, tuple(map(math.log, base.values)), text, plain):
                    yield _Form(found, base.sizes, "log_")


def _scaled(wanted: Values, values: Values, text: str, plain: bool) -> str | None:
    """`c * text`, with 1 for c if it is to be plain; None where that is not the number in all traces."""
    factor = 1.0 if plain else float(f"{wanted[0] / values[0]:.12g}")
    pairs = zip(wanted, values, strict=True)
    if not factor or not all(math.isclose(factor * value, number, rel_tol=1e-11) for number, value in pairs):
        return None
    return text if plain else f"{factor!r} / {text[4:]}" if text.startswith("1 / ") else f"{factor!r} * {text}"
