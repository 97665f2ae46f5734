"""Attributes of torch and triton replaced, for good or for a while. Callers say what, as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

_INHERITED = object()
"""The owner had no such attribute of its own: it goes away again."""


class Replacement(NamedTuple):
    """`owner.name` becomes `value`. The owner is a module, a class or an object of torch or triton."""

    owner: Any
    name: str
    value: Any


def replace(replacements: Iterable[Replacement]) -> None:
    """For the rest of this process."""
    for owner, name, value in replacements:
        setattr(owner, name, value)


@contextmanager
def replaced(replacements: Iterable[Replacement]) -> Iterator[None]:
    """For the block; whatever happens, each attribute is put back as it was, in reverse order."""
    before: list[Replacement] = []
    try:
        for owner, name, value in replacements:
            before.append(Replacement(owner, name, vars(owner).get(name, _INHERITED)))
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in reversed(before):
            if value is _INHERITED:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
