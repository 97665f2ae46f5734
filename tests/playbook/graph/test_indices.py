"""Index arithmetic as text: digits side by side are one, and what moves elements shows in the address."""

from __future__ import annotations

import pytest

from tilesmith.playbook.graph.indices import Index, IndexArithmetic, Variable
from tilesmith.playbook.graph.symbols import SymbolicShape, Symbols


class Tile:
    """Elements of a tensor of 4 x 6 x 5 that `offs` counts."""

    def __init__(self) -> None:
        self.symbols = Symbols()
        self.form: SymbolicShape = self.symbols.leaf("x", (4, 6, 5))
        axes = tuple(axis for dim in self.form.dims for axis in dim)
        self.variable = Variable("offs", axes)
        self.arithmetic = IndexArithmetic(self.symbols, lambda dims: "_".join(f"D{i}" for d in dims for _, i in d))
        self.indices = self.arithmetic.digits([self.variable], self.form.dims)

    def address(self, *indices: Index) -> str:
        return self.arithmetic.write(part for index in indices for part in index)


def test_all_digits_in_order_are_the_variable() -> None:
    tile = Tile()
    assert tile.address(*tile.indices) == "offs"


def test_digits_that_are_left_out_are_divided_away() -> None:
    tile = Tile()
    first, second, third = tile.indices
    assert tile.address(first) == "offs // D1_D2"
    assert tile.address(second, third) == "offs % D1_D2"
    assert tile.address(first, third) == "(offs // D1_D2 * D2) + (offs % D2)"


def test_two_variables_count_one_after_the_other() -> None:
    tile = Tile()
    axes = tile.variable.axes
    indices = tile.arithmetic.digits([Variable("outer", axes[:1]), Variable("cols", axes[1:])], tile.form.dims)
    assert tile.address(*indices) == "outer * D1_D2 + cols"
    assert tile.address(indices[0], indices[2]) == "outer * D2 + (cols % D2)"


def test_a_transposed_tensor_has_its_digits_in_another_order() -> None:
    tile = Tile()
    first, second, third = tile.indices
    assert tile.address(first, third, second) == "(offs // D1_D2 * D2_D1) + (offs % D2 * D1) + (offs // D2 % D1)"


@pytest.mark.parametrize(
    ("scale", "offset", "address"),
    [
        (1, ((2, ()),), "offs + 2"),
        (2, (), "(offs // D2 * D2) + (offs % D2 * 2)"),
        (-1, "whole", "(offs // D2 * D2) + D2 - (offs % D2) - 1"),
    ],
)
def test_a_place_that_is_moved_shows_in_the_address(scale: int, offset: object, address: str) -> None:
    tile = Tile()
    *rest, last = tile.indices
    given = ((1, tile.form.dims[2]), (-1, ())) if offset == "whole" else offset
    assert tile.address(*rest, tile.arithmetic.moved(last, tile.form.dims[2], scale, given)) == address  # type: ignore[arg-type]


def test_a_reshape_takes_digits_apart_and_puts_them_together() -> None:
    tile = Tile()
    merged = tile.arithmetic.regrouped(tile.indices, [(*tile.form.dims[0], *tile.form.dims[1]), tile.form.dims[2]])
    assert [len(index) for index in merged] == [2, 1]
    anew = [tile.symbols.make(("view", i), size) for i, size in enumerate((3, 40))]
    assert len(tile.arithmetic.regrouped(tile.indices, anew)) == 2


def test_neighbors_are_as_far_apart_as_the_last_digit_says() -> None:
    tile = Tile()
    first, second, third = tile.indices
    for indices, stride in (((first, second, third), 1), ((first, third, second), 6), ((first, second), 0)):
        assert tile.arithmetic.stride_of([p for i in indices for p in i], tile.variable) == stride
