"""Running sums of outer products that only meet a vector each: products of matrices under a triangle instead.

Linear attention is often written as `einsum("nd,nde->ne", q, cumsum(k[:, :, None] * v[:, None, :], 0))`: a whole
matrix for every step, which is written and read. `tril(q @ k.T) @ v` is the same sums in another order, in tiles of
products that never leave the chip.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tilesmith.playbook.graph.operators import operator_name
from tilesmith.playbook.graph.reductions import find_argument
from tilesmith.tasks.graph import Node, reference

MOST_STEPS = 8192
"""With more, the products under the triangle take longer than writing and reading the matrices."""
LEAST_SIZE = 16
"""Of vectors: the running sums of smaller ones are small themselves."""


class RunningProduct(NamedTuple):
    """`tril(queries @ keys.T) @ values`, with the steps as rows."""

    sums: Node
    queries: Any
    keys: Any
    values: Any


def find_running_product(node: Node, known: Mapping[str, Any]) -> RunningProduct | None:
    """What an einsum comes to, if it is a vector for every step times the sum of outer products up to there."""
    if operator_name(node) != "einsum" or len(node.args[1]) != 2:
        return None
    operands = [known[str(reference(one))] for one in node.args[1]]
    given, _, wanted = str(node.args[0]).replace(" ", "").partition("->")
    letters = given.split(",")
    if not isinstance(operands[1], Node) or operator_name(operands[1]) != "cumsum":
        operands, letters = operands[::-1], letters[::-1]
    queries, sums = operands
    vectors = _outer_vectors(sums, known)
    if vectors is None or queries.dtype != node.dtype or sums.dtype != node.dtype:
        return None
    batch, first, second = letters[1][:-2], letters[1][-2], letters[1][-1]
    for summed, kept, (keys, values) in ((first, second, vectors), (second, first, vectors[::-1])):
        if letters[0] == batch + summed and wanted == batch + kept:
            return RunningProduct(sums, queries, keys, values)
    return None


def _outer_vectors(sums: Any, known: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """The column and the row of which a running sum adds up the products, if that is along the dimension before."""
    if not isinstance(sums, Node) or operator_name(sums) != "cumsum" or sums.kwargs:
        return None
    rank, shape = len(sums.shape or ()), sums.shape or ()
    product = known[str(reference(sums.args[0]))]
    if rank < 4 or find_argument(sums, 1, "dim") % rank != rank - 3 or not isinstance(product, Node):
        return None
    if operator_name(product) != "mul" or shape[-3] > MOST_STEPS or min(shape[-2:]) < LEAST_SIZE:
        return None
    found: dict[int, Any] = {}
    for operand in product.args:
        spread = known.get(str(reference(operand)))
        if isinstance(spread, Node) and operator_name(spread) == "unsqueeze":
            source = known[str(reference(spread.args[0]))]
            place = spread.args[1] % rank
            if spread.shape == (*source.shape[:place], 1, *source.shape[place:]) and source.dtype == sums.dtype:
                found[place] = source
    column, row = found.get(rank - 1), found.get(rank - 2)
    if column is None or row is None or column.shape != shape[:-1] or row.shape != (*shape[:-2], shape[-1]):
        return None
    return column, row
