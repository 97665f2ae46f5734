"""The operators of a forward pass at its full shape, without decomposing and without paying for the data."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tilesmith.tasks.graph import Graph, graph_from_json, graph_to_json
from tilesmith.worker.task.loading import load_task
from tilesmith.worker.task.tracing import Traced, trace

SAMPLES = Path(__file__).parent / "samples"


def traced(name: str) -> Graph:
    found = trace(load_task(SAMPLES / f"{name}.py"))
    assert found.graph is not None, found.reason
    assert graph_from_json(graph_to_json(found.graph)) == found.graph
    return found.graph


def written(tmp_path: Path, text: str) -> Traced:
    path = tmp_path / "task.py"
    path.write_text("import torch\nimport torch.nn as nn\n" + dedent(text))
    return trace(load_task(path))


def ops(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes]


@pytest.mark.parametrize(
    ("name", "op"),
    [("gru", "aten.gru.input"), ("bidirectional_gru", "aten.gru.input"), ("lstm_cell_state", "aten.lstm.input")],
)
def test_a_recurrent_layer_is_one_node(name: str, op: str) -> None:
    graph = traced(name)
    assert ops(graph).count(op) == 1
    results = [node.shape for node in graph.nodes if node.op == "getitem"]
    expected = {"gru": (512, 10, 256), "bidirectional_gru": (512, 10, 512), "lstm_cell_state": (10, 512, 256)}
    assert results[0] == expected[name]


def test_a_convolutional_network_keeps_its_layers() -> None:
    graph = traced("vgg16")
    assert ops(graph).count("aten.conv2d.default") == 13
    assert ops(graph).count("aten.linear.default") == 3
    assert graph.parameters[0].attribute == "features.0.weight"


def test_twelve_gigabytes_cost_nothing() -> None:
    graph = traced("softmax")
    assert graph.nodes[0].shape == (4096, 393216)
    assert ops(graph) == ["aten.softmax.int"]
    assert graph.inputs[0].name == "x"


def test_numbers_that_the_model_keeps_are_listed() -> None:
    assert traced("rmsnorm").scalars["eps"] == pytest.approx(1e-5)


def test_a_branch_on_a_value_gives_a_reason() -> None:
    found = trace(load_task(SAMPLES / "data_dependent.py"))
    assert found.graph is None
    assert "could not be traced" in str(found.reason)


@pytest.mark.parametrize("formula", ["x * self.scale.item()", "x * s.item()", "self.norm(x)"])
def test_a_number_that_a_tensor_holds_is_no_constant(formula: str, tmp_path: Path) -> None:
    text = f"""
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("scale", torch.tensor(2.5))
                self.norm = nn.BatchNorm1d(3, momentum=None)
            def forward(self, x, s):
                return {formula}

        def get_inputs():
            return [torch.ones(2, 3), torch.tensor(2.0)]
        """
    assert "it goes by values of tensors" in str(written(tmp_path, text).reason)


def test_nested_arguments_and_results(tmp_path: Path) -> None:
    found = written(
        tmp_path,
        """
        class Model(nn.Module):
            def forward(self, pair, options, factor):
                total = pair[0] + options["bias"]
                return {"total": total, "rest": [total * factor, None], "same": (pair[1],)}

        def get_inputs():
            return [(torch.ones(3), torch.ones(4)), {"bias": torch.ones(3)}, 2.5]
        """,
    )
    graph = found.graph
    assert graph is not None
    assert [(one.name, one.argument, one.path) for one in graph.inputs] == [
        ("pair_0", "pair", (0,)),
        ("pair_1", "pair", (1,)),
        ("options_bias", "options", ("bias",)),
        ("factor", "factor", ()),
    ]
    assert (graph.inputs[3].shape, graph.inputs[3].value) == (None, 2.5)
    assert graph.inputs[2].expression == "options['bias']"
    assert graph.outputs == {
        "total": {"node": "add"},
        "rest": [{"node": "mul"}, {"value": None}],
        "same": {"tuple": [{"node": "pair_1"}]},
    }
    assert graph.nodes[1].args == ({"node": "add"}, 2.5)


def test_parameters_and_inputs_of_one_name_stay_apart(tmp_path: Path) -> None:
    found = written(
        tmp_path,
        """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(3))
                self.plain = torch.ones(3)
            def forward(self, weight):
                return self.weight * weight + self.plain

        def get_inputs():
            return [torch.ones(2, 3)]
        """,
    )
    graph = found.graph
    assert graph is not None
    assert [(one.name, one.attribute) for one in graph.parameters] == [("weight_1", "weight"), ("plain", "plain")]
    assert graph.nodes[0].args == ({"node": "weight_1"}, {"node": "weight"})


def test_a_model_with_dropout_is_traced_as_it_is_judged(tmp_path: Path) -> None:
    text = """
        class Model(nn.Module):
            def __init__(self, p):
                super().__init__()
                self.drop, self.norm = nn.Dropout(p), nn.BatchNorm1d(3)
            def forward(self, x):
                return self.norm(self.drop(x))

        def get_inputs():
            return [torch.ones(2, 3)]

        def get_init_inputs():
            return [PROBABILITY]
        """
    random = written(tmp_path, text.replace("PROBABILITY", "0.5")).graph
    steady = written(tmp_path, text.replace("PROBABILITY", "0.0")).graph
    assert random is not None
    assert steady is not None
    assert not random.training
    assert steady.training


def test_an_endless_unrolled_loop_is_given_up(tmp_path: Path) -> None:
    found = written(
        tmp_path,
        """
        class Model(nn.Module):
            def forward(self, x):
                for step in range(10**9):
                    if x.dim() == 1 and step % 50 == 0:  # steps that only ask are traced faster
                        x = x + 1
                return x

        def get_inputs():
            return [torch.ones(2)]
        """,
    )
    assert found.graph is None
    assert "more than 2000 operators" in str(found.reason)


@pytest.mark.parametrize("returned", ["{'node': y}", "{'value': y}", "[{'tuple': y}]", "{0: y, 1: x}"])
def test_a_result_that_the_records_cannot_tell_is_declined(tmp_path: Path, returned: str) -> None:
    found = written(
        tmp_path,
        f"""
        class Model(nn.Module):
            def forward(self, x):
                y = x + 1
                return {returned}

        def get_inputs():
            return [torch.rand(4, 5)]
        """,
    )
    assert found.graph is None
    assert "no word for an output dictionary" in str(found.reason)


def test_memory_that_is_shared_written_and_replaced_is_recorded(tmp_path: Path) -> None:
    text = """
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("last", torch.zeros(3))

        def forward(self, x, rate):
            h = x * rate
            h[0].add_(torch.rand(3))
            self.last = h.sum(0)
            return h.view(-1), torch.tensor([1.0, 2.0])

    def get_inputs():
        return [torch.randn(2, 3), 0.3]
    """
    graph = written(tmp_path, text).graph
    assert graph is not None
    owners = {name: graph.memory.get(name, name) for name in ("select", "add_", "view", "sum_1")}
    assert owners == {"select": "mul", "add_": "mul", "view": "mul", "sum_1": "sum_1"}
    assert (graph.writes, graph.random, graph.assigned) == ({"add_": ("select",)}, ("rand",), {"last": "sum_1"})
    assert [one.values for one in graph.parameters] == [None, [1.0, 2.0]]
    assert [one.decides for one in graph.inputs] == [False, False]


def test_what_is_computed_from_numbers_is_recorded(tmp_path: Path) -> None:
    """From those alone that nothing else goes by: a comparison, a size, another number than 1."""
    text = """
    class Model(nn.Module):
        def forward(self, x, limits, rate, seen):
            low = -limits["low"]
            mixed = (1 - rate) * low / (rate + limits["low"])
            if -seen > 0 or 2 * rate * seen < 0:
                return x
            return torch.clamp(x, low, 3.0) * mixed

    def get_inputs():
        return [torch.randn(2, 3), {"low": 0.5}, 0.25, 0.125]
    """
    graph = written(tmp_path, text).graph
    assert graph is not None
    assert {one.expression: one.decides for one in graph.inputs if one.shape is None} == {
        "limits['low']": False,
        "rate": True,
        "seen": True,
    }
    assert graph.computed == {"-limits['low']": -0.5}
    graph = written(tmp_path, text.replace(" or 2 * rate * seen < 0", "")).graph
    assert graph is not None
    assert graph.computed == {
        "-limits['low']": -0.5,
        "1 - rate": 0.75,
        "(1 - rate) * -limits['low']": -0.375,
        "rate + limits['low']": 0.75,
        "((1 - rate) * -limits['low']) / (rate + limits['low'])": -0.5,
    }


def test_what_python_counts_is_a_reason(tmp_path: Path) -> None:
    text = """
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x * 2

    def get_inputs():
        return [torch.randn(2, 3)]
    """
    assert "forward changes self.calls, which is no tensor" in str(written(tmp_path, text).reason)
