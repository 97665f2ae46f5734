"""Sizes by where they come from: what makes a kernel written for one shape right for another."""

from __future__ import annotations

import pytest

from tilesmith.playbook.graph.symbols import Symbols
from tilesmith.playbook.unmatched import Unmatched


def test_broadcasting_makes_axes_equal():
    symbols = Symbols()
    x, bias = symbols.leaf("x", (4, 6, 5)), symbols.leaf("bias", (6, 1))
    whole = symbols.broadcast([x, bias])
    assert whole.shape == (4, 6, 5)
    assert symbols.same([whole.dims[1]], [bias.dims[0]])
    assert not symbols.same([whole.dims[0]], [bias.dims[0]])


def test_a_view_may_merge_dimensions_and_take_them_apart_again():
    symbols = Symbols()
    x = symbols.leaf("x", (4, 6, 5))
    flat = symbols.view(x, (24, 1, 5))
    assert flat.dims == ((("x", 0), ("x", 1)), (), (("x", 2),))
    assert symbols.view(flat, (4, 6, 5)) == x


def test_a_view_may_not_split_a_dimension():
    symbols = Symbols()
    with pytest.raises(Unmatched, match="splits a dimension"):
        symbols.view(symbols.leaf("x", (4, 6)), (4, 2, 3))


def test_equal_sizes_are_not_equal_dimensions():
    symbols = Symbols()
    a, b = symbols.leaf("a", (5, 7)), symbols.leaf("b", (7, 5))
    assert not symbols.same([a.dims[0]], [b.dims[1]])
