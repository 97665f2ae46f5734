"""Numbers that remember what they are in traces at other shapes."""

from __future__ import annotations

import json
from dataclasses import replace

from tilesmith.tasks.graph import Graph, Input, Node, graph_from_json, graph_to_json
from tilesmith.tasks.numbers.varying import (
    is_varying,
    make_varying,
    remember_varying,
    same,
    values_of,
    with_varying,
)


def graph(rows: int, columns: int, op: str = "aten.div.Tensor") -> Graph:
    """`x / columns ** 0.5 + 2`"""
    shape = (rows, columns)
    x = Input("x", "x", (), shape, (columns, 1), "float32")
    root = Node("div", op, ({"node": "x"}, columns**0.5), {}, shape, "float32")
    more = Node("add", "aten.add.Tensor", ({"node": "div"}, 2), {}, shape, "float32")
    return Graph((x,), (), (root, more), {"node": "add"}, {"width": columns})


def test_what_varies_is_told_from_what_stood_in_the_code() -> None:
    told = with_varying(graph(3, 64), [graph(3, 16), graph(5, 64)])
    found = remember_varying(graph_from_json(json.loads(json.dumps(graph_to_json(told)))))
    assert [values_of(size) for size in found.inputs[0].shape or ()] == [(3, 3, 5), (64, 16, 64)]
    assert values_of(found.nodes[0].args[1]) == (8.0, 4.0, 8.0)
    assert not is_varying(found.nodes[1].args[1])
    assert list(found.sizes) == ["x.shape[0]", "x.shape[1]", "self.width"]
    assert replace(found, varying={}, sizes={}) == graph(3, 64)


def test_a_trace_that_goes_another_way_says_nothing() -> None:
    assert with_varying(graph(3, 64), [graph(3, 16, "aten.mul.Tensor")]).varying == {}


def test_arithmetic_is_done_in_all_traces() -> None:
    one, other = make_varying((64, 61)), make_varying((32, 30))
    assert values_of(one // 2) == values_of(other) == (32, 30)
    assert not is_varying(one * 2 - (one + one))
    assert values_of(1 - one) == (-63, -60)
    assert one == 64
    assert not same(one, 64)
    assert same(one - 61, make_varying((3, 0)))
    assert one % make_varying((7, 0)) == 1  # there is no such number in the other trace
