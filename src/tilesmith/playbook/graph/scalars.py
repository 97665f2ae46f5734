"""Numbers in a kernel: written out, or named after the attribute of the model or the size that they come from.

A tracer sees `0.1`, not `self.slope`. Where exactly one attribute has that value (or its square root, or its
inverse), the kernel takes it from there, and stays right when the model is built with another. A number that was
another one in traces at other shapes comes from sizes.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from tilesmith.tasks.numbers.size_expressions import explain
from tilesmith.tasks.numbers.varying import always, values_of

PLAIN = (0, 1, 2, 3, -1, 0.5)
"""Numbers that mean themselves."""
_FORMS: tuple[tuple[str, str, Callable[[float], float]], ...] = (
    ("self.{0}", "{0}", lambda v: v),
    ("self.{0} ** 0.5", "root_{0}", lambda v: math.sqrt(v)),
    ("self.{0} ** -0.5", "inverse_root_{0}", lambda v: 1 / math.sqrt(v)),
    ("1 / self.{0}", "inverse_{0}", lambda v: 1 / v),
)
"""What the host computes from an attribute, and what the kernel calls it."""


class NamedNumber(float):
    """A number with a name: prints as its name, computes as its value."""

    name: str
    host: str | None
    """The expression that the caller of the kernel passes; None for a size the kernel has anyway."""

    def __new__(cls, value: float, name: str, host: str | None) -> NamedNumber:
        number = super().__new__(cls, value)
        number.name, number.host = name, host
        return number


def find_attribute(value: float, scalars: Mapping[str, Any]) -> NamedNumber | None:
    """The attribute a number comes from, if there is exactly one."""
    if value in PLAIN or isinstance(value, NamedNumber):
        return None
    for form, called, compute in _FORMS:
        direct = form == "self.{0}"
        found = [
            name
            for name, own in scalars.items()
            if isinstance(own, int | float)
            and _gives(compute, _here(own), _here(value), direct)  # most are not, which is quickly told
            and always(lambda one, number: _gives(compute, one, number, direct), own, value)  # noqa: B023
        ]
        parts = found[0].split(".") if len(found) == 1 else []
        if parts and all(part.isidentifier() and not keyword.iskeyword(part) for part in parts):
            return NamedNumber(value, called.format(parts[-1]), form.format(found[0]))
        if found:
            return None
    return None


def _here(number: float) -> float:
    """What it is at the task's own shape."""
    values = values_of(number)
    return number if values is None else values[0]


def _gives(compute: Callable[[float], float], own: Any, value: float, direct: bool) -> bool:
    if direct:
        return bool(own == value) and isinstance(own, float)
    if type(own) is not int or own < 2:
        return False
    return math.isclose(compute(own), value, rel_tol=1e-12)


def find_sizes(value: float, sizes: Mapping[str, int]) -> NamedNumber | None:
    """The expression over sizes that a number comes from."""
    found = explain(value, sizes)
    if found is None:
        return None
    name = re.sub(r"\W+", "_", "_".join(found.sizes)).strip("_")
    return NamedNumber(value, f"{found.word}{name}", found.write(str))
