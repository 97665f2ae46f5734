"""A graph is plain data: it survives JSON, and its references can be followed."""

from __future__ import annotations

import json

from tilesmith.tasks.graph import (
    Graph,
    Input,
    Node,
    Parameter,
    graph_from_json,
    graph_to_json,
    reference,
    references,
)

GRAPH = Graph(
    inputs=(Input("x", "x", (), (4, 8), (8, 1), "float32"), Input("scale", "scale", ("by", 0), None, None, None)),
    parameters=(Parameter("norm_weight", "norm.weight", (8,), (1,), "float32"),),
    nodes=(
        Node("mul", "aten.mul.Tensor", ({"node": "x"}, {"node": "norm_weight"}), {}, (4, 8), "float32"),
        Node(
            "full",
            "aten.where.ScalarOther",
            ({"node": "mul"}, {"float": "-inf"}),
            {"k": [1, None]},
            (4, 8),
            "float32",
        ),
        Node("max_1", "aten.max.dim", ({"node": "full"}, -1), {}, None, None),
        Node("getitem", "getitem", ({"node": "max_1"}, 0), {}, (4,), "float32"),
    ),
    outputs={"best": {"node": "getitem"}, "all": {"tuple": [{"node": "mul"}, {"value": 3}]}},
    scalars={"norm.eps": 1e-5},
    training=False,
)


def test_a_graph_survives_json():
    assert graph_from_json(json.loads(json.dumps(graph_to_json(GRAPH)))) == GRAPH


def test_references_are_found_in_order_wherever_they_are():
    assert list(references(GRAPH.outputs)) == ["getitem", "mul"]
    assert list(references([node.args for node in GRAPH.nodes])) == ["x", "norm_weight", "mul", "full", "max_1"]


def test_a_literal_is_no_reference():
    assert reference({"node": "x"}) == "x"
    assert reference({"float": "-inf"}) is None
    assert reference(3) is None


def test_leaves_are_inputs_then_parameters():
    assert [leaf.name for leaf in GRAPH.leaves] == ["x", "scale", "norm_weight"]
