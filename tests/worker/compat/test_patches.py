"""Replacements hold for their block and leave nothing behind."""

from __future__ import annotations

from types import ModuleType

import pytest

from tilesmith.worker.compat.patches import Replacement, replace, replaced


class Base:
    def inherited(self) -> str:
        return "inherited"


class Owner(Base):
    @staticmethod
    def own() -> str:
        return "own"


def test_attributes_are_put_back_as_they_were() -> None:
    module = ModuleType("module")
    before = dict(vars(Owner)), dict(vars(module))
    replacements = [
        Replacement(Owner, "own", lambda self: "new"),
        Replacement(Owner, "inherited", lambda self: "new"),
        Replacement(module, "created", 1),
    ]
    with replaced(replacements):
        assert (Owner().own(), Owner().inherited(), module.created) == ("new", "new", 1)
    assert (dict(vars(Owner)), dict(vars(module))) == before
    assert (Owner.own(), Owner().inherited()) == ("own", "inherited")


def test_an_error_inside_puts_everything_back() -> None:
    before = dict(vars(Owner))
    with pytest.raises(KeyError), replaced([Replacement(Owner, "own", None)]):
        raise KeyError
    assert dict(vars(Owner)) == before


def test_one_attribute_replaced_twice_comes_back() -> None:
    before = dict(vars(Owner))
    with replaced([Replacement(Owner, "own", 1), Replacement(Owner, "own", 2)]):
        assert Owner.own == 2
    assert dict(vars(Owner)) == before


def test_replace_is_for_good() -> None:
    module = ModuleType("module")
    replace([Replacement(module, "name", 1)])
    assert module.name == 1
