"""The recurrent layer of a task: its cell and sizes, and what the rest of the module takes from it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilesmith.playbook.graph.operators import find_needed_nodes, is_inplace, refuse_autocast
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.tasks.graph import GETITEM, Graph, Node, reference, references

CELLS = {f"aten.{cell}.input": cell for cell in ("gru", "lstm", "rnn_tanh", "rnn_relu")}
CLASSES = {"gru": "GRU", "lstm": "LSTM", "rnn_tanh": "RNN", "rnn_relu": "RNN"}
"""The modules of `torch.nn` that a cell belongs to."""
GATES = {"gru": 3, "lstm": 4, "rnn_tanh": 1, "rnn_relu": 1}
DTYPES = ("float32", "float16", "bfloat16")
_WEIGHT = re.compile(r"(?P<module>.+)\.(weight|bias)_(ih|hh)_l\d+(_reverse)?")


@dataclass(frozen=True)
class RecurrentLayer:
    """One `nn.GRU`, `nn.LSTM` or `nn.RNN` as the task calls it."""

    cell: str
    attribute: str
    """The module's dotted name on the model."""
    dtype: str
    time: int
    batch: int
    input_size: int
    hidden_size: int
    num_layers: int
    directions: int
    bias: bool
    batch_first: bool
    may_lack_batch: bool
    """Whether the module may get a sequence without a batch dimension."""
    has_dropout: bool
    """Between its layers, in training only."""
    output: str
    """What the task takes of the output sequence: all, last (its last step) or none."""
    wants_h: bool
    wants_c: bool

    @property
    def gates(self) -> int:
        return GATES[self.cell]

    @property
    def class_name(self) -> str:
        return CLASSES[self.cell]


def read_layer(graph: Graph) -> RecurrentLayer:
    """The one recurrent layer of the graph; `Unmatched` says why there is none for this recipe."""
    refuse_autocast(graph)
    nodes = find_needed_nodes(graph)
    found = [node for node in nodes if node.op in CELLS]
    if not found:
        raise Unmatched("has no recurrent layer of PyTorch (nn.GRU, nn.LSTM or nn.RNN on a padded batch)")
    if len(found) > 1:
        raise Unmatched(f"calls {len(found)} recurrent layers, and this recipe writes one")
    node = found[0]
    sequence, _, weights, bias, layers, dropout, training, bidirectional, batch_first = node.args
    if training and dropout and layers > 1:
        raise Unmatched("trains with dropout between its layers, which is random")
    sizes = _LayerSizes(graph, sequence, weights, layers, 2 if bidirectional else 1, bias)
    uses = _LayerUses(nodes, graph, node)
    may_lack_batch = _made_by(graph, sequence, "aten.unsqueeze.default")
    time, batch = sizes.sequence[:2][::-1] if batch_first else sizes.sequence[:2]
    lone = (0 if batch_first else 1) if may_lack_batch and batch == 1 else None
    output = uses.of_output(1 if batch_first else 0, lone) if uses.takes(0) else "none"
    if output == "last" and (bidirectional or any(map(is_inplace, nodes))):
        output = (
            "all"  # at the last step the backward direction has only begun; and a final state is not to be shared
        )
    return RecurrentLayer(
        cell=CELLS[node.op],
        attribute=sizes.module,
        dtype=sizes.dtype,
        time=time,
        batch=batch,
        input_size=sizes.sequence[2],
        hidden_size=sizes.hidden,
        num_layers=layers,
        directions=2 if bidirectional else 1,
        bias=bias,
        batch_first=batch_first,
        may_lack_batch=may_lack_batch,
        has_dropout=bool(dropout) and layers > 1,
        output=output,
        wants_h=uses.takes(1) or output == "last",
        wants_c=uses.takes(2),
    )


class _LayerSizes:
    """Of the sequence and the weights, checked to be what a plain module has."""

    def __init__(
        self, graph: Graph, sequence: Any, weights: Sequence[Any], layers: int, directions: int, bias: bool
    ) -> None:
        values = {value.name: value for value in (*graph.leaves, *graph.nodes)}
        parameters = {parameter.name: parameter for parameter in graph.parameters}
        owned = [parameters.get(str(reference(weight))) for weight in weights]
        names = [_WEIGHT.fullmatch(parameter.attribute) if parameter else None for parameter in owned]
        if len(weights) != layers * directions * (4 if bias else 2):
            raise Unmatched("projects the state of its LSTM (proj_size)")
        if not all(names) or len({name["module"] for name in names if name}) != 1:
            raise Unmatched("computes the weights of its recurrent layer, or is one itself")
        self.module = str(names[0] and names[0]["module"])
        given = values[str(reference(sequence))]
        self.sequence: tuple[int, ...] = given.shape or ()
        assert owned[1] is not None
        self.hidden, self.dtype = owned[1].shape[1], owned[1].dtype
        types = {parameter.dtype for parameter in owned if parameter} | {given.dtype}
        if len(types) != 1 or self.dtype not in DTYPES:
            raise Unmatched(f"runs its recurrent layer in {' and '.join(sorted(map(str, types)))}")


class _LayerUses:
    """Who takes which result of the layer."""

    def __init__(self, nodes: Sequence[Node], graph: Graph, layer: Node) -> None:
        self._nodes = nodes
        self._returned = set(references(graph.outputs))
        results = [node for node in nodes if node.op == GETITEM and reference(node.args[0]) == layer.name]
        self._results = {node.args[1]: node.name for node in results}

    def takes(self, result: int) -> bool:
        return result in self._results

    def of_output(self, time_axis: int, lone: int | None) -> str:
        """`last` where every use picks step -1; `lone` is the batch axis that a lone sequence loses."""
        return "last" if self._only_last(self._results[0], time_axis, lone) else "all"

    def _only_last(self, name: str, axis: int, lone: int | None) -> bool:
        if name in self._returned:
            return False
        users = [node for node in self._nodes if name in references([node.args, node.kwargs])]
        return all(self._picks_last(node, axis, lone) for node in users)

    def _picks_last(self, node: Node, axis: int, lone: int | None) -> bool:
        if node.op == "aten.squeeze.dim" and lone is not None and node.args[1] == lone:
            return self._only_last(node.name, 0, None)
        return node.op == "aten.select.int" and node.args[1] == axis and node.args[2] == -1


def _made_by(graph: Graph, value: Any, op: str) -> bool:
    return any(node.name == reference(value) and node.op == op for node in graph.nodes)
