"""Sizes by where they come from: what makes a kernel written for one shape right for another."""

from __future__ import annotations

import pytest

from tilesmith.playbook.graph.symbols import SymbolicShape, Symbols


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


def test_a_dimension_that_a_view_splits_is_the_product_of_its_parts():
    symbols = Symbols()
    x = symbols.leaf("x", (4, 6))
    heads = symbols.view(x, (4, 2, 3))
    assert symbols.same(heads.dims[1:], x.dims[1:])
    assert symbols.view(heads, (8, 3)).dims[0] == (("x", 0), *heads.dims[1])
    assert symbols.pinned() == [("x", 1)]


@pytest.mark.parametrize("how", [{"constants": {2}}, {"free": 2}])
def test_a_part_that_is_known_leaves_the_size_open(how):
    symbols = Symbols(constants=how.pop("constants", ()))
    heads = symbols.view(symbols.leaf("x", (4, 6)), (4, 2, 3), **how)
    assert symbols.rules[heads.dims[2][0]].template == "{0} // 2"
    assert symbols.pinned() == []
    assert symbols.divisors() == [(("x", 1), 2)]


def test_a_reshape_that_keeps_no_dimension_is_for_one_shape():
    symbols = Symbols()
    assert symbols.view(symbols.leaf("x", (4, 6)), (3, 8)).shape == (3, 8)
    assert symbols.pinned() == [("x", 0), ("x", 1)]


def test_an_axis_of_a_tensor_stands_for_a_number_of_the_code():
    symbols = Symbols()
    x = symbols.leaf("x", (4, 6))
    made = SymbolicShape((6,), (symbols.make(("arange", 0), 6),))
    assert symbols.canonical(symbols.broadcast([made, x]).dims[1]) == (("x", 1),)
    assert symbols.pinned() == []


def test_equal_sizes_are_not_equal_dimensions():
    symbols = Symbols()
    a, b = symbols.leaf("a", (5, 7)), symbols.leaf("b", (7, 5))
    assert not symbols.same([a.dims[0]], [b.dims[1]])
