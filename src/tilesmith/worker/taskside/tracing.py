"""The operators of a task's forward pass, in order, at its full shape.

Traced on fake tensors before any decomposition, so a 40 GB task costs nothing and `nn.GRU`, `layer_norm` or
`softmax` stay one node each. A task that branches on values has no such graph: it gets a reason instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import fx, nn
from torch.fx.experimental.proxy_tensor import make_fx

from tilesmith.tasks.graph import MOST_NODES, Graph, Node, Parameter
from tilesmith.worker.exchange import map_tensors
from tilesmith.worker.state import state_of
from tilesmith.worker.taskside.faults import one_line
from tilesmith.worker.taskside.graph_records import (
    filled,
    form,
    inputs_of,
    is_random,
    laid_out,
    node_record,
    parameter,
    scalars_of,
)
from tilesmith.worker.taskside.loading import LoadedTask, build_model, load_task, unload
from tilesmith.worker.taskside.recurrent_nodes import recurrent_as_nodes
from tilesmith.worker.taskside.trial import fake_tensors


@dataclass(frozen=True)
class Traced:
    """A graph, or the reason why there is none."""

    graph: Graph | None
    reason: str | None


def trace(loaded: LoadedTask) -> Traced:
    """The graph of the task in the mode it is judged in: evaluation where training would be random."""
    try:
        with fake_tensors(), torch.no_grad():
            again = load_task(loaded.path, loaded.source.text)
            try:
                model, arguments = build_model(again), again.make_inputs(seed=0)
                return Traced(_graph(model, arguments), None)
            finally:
                unload(again)
    except _TooLarge as error:
        return Traced(None, str(error))
    except Exception as error:  # whatever the task's code does when it meets a tensor without values
        return Traced(None, f"the forward pass could not be traced: {one_line(error)}")


class _TooLarge(Exception):
    """More operators than a graph may have."""


def _graph(model: nn.Module, arguments: list[Any]) -> Graph:
    traced = _Recording(model, arguments).graph()
    if traced.training and traced.is_random:
        model.eval()
        traced = _Recording(model, arguments).graph()
    return traced.record


@dataclass(frozen=True)
class _Result:
    record: Graph
    is_random: bool

    @property
    def training(self) -> bool:
        return self.record.training


class _Recording:
    """One run of the model under the tracer, and its translation into records."""

    def __init__(self, model: nn.Module, arguments: list[Any]) -> None:
        self.model, self.arguments = model, arguments
        self.inputs = list(inputs_of(model, arguments))
        self.state = state_of(model)
        """Every tensor the model owns, plain attributes included."""
        self.outputs: Any = None
        self.names: dict[str, str] = {}

    def graph(self) -> _Result:
        tensors = [tensor for _, tensor in self.inputs if tensor is not None]
        owned = {**dict(self.model.named_parameters()), **dict(self.model.named_buffers())}

        def forward(*flat: torch.Tensor) -> list[torch.Tensor]:
            given, state = iter(flat[: len(tensors)]), dict(zip(owned, flat[len(tensors) :], strict=True))
            arguments = [map_tensors(value, lambda _: next(given)) for value in self.arguments]
            found = torch.func.functional_call(self.model, state, tuple(arguments))
            leaves: list[torch.Tensor] = []
            self.outputs = laid_out(found, leaves)
            return leaves

        tracer = make_fx(forward, tracing_mode="real", pre_dispatch=True, _allow_non_fake_inputs=True)
        with recurrent_as_nodes():
            module = tracer(*tensors, *owned.values())
        return self._translated(module, list(owned))

    def _translated(self, module: fx.GraphModule, owned: list[str]) -> _Result:
        nodes = list(module.graph.nodes)
        if len(nodes) > MOST_NODES:
            raise _TooLarge(f"the forward pass has {len(nodes)} operators; at most {MOST_NODES} make a graph")
        inputs = [record for record, _ in self.inputs]
        leaves = [record.name for record in inputs if record.shape is not None]
        parameters = [parameter(name, self.state[name]) for name in owned]
        leaves += [parameter.name for parameter in parameters]
        found: list[Node] = []
        for node in nodes:
            if node.op == "placeholder":
                self.names[node.name] = leaves.pop(0)
            elif node.op == "get_attr":
                parameters.append(self._constant(node, getattr(module, node.target)))
            elif node.op == "call_function":
                self.names[node.name] = self._free_name(node.name)
                found.append(node_record(node, self.names))
        ends = [self.names[end.name] for end in nodes[-1].args[0]]
        record = Graph(
            tuple(inputs),
            tuple(parameters),
            tuple(found),
            filled(self.outputs, ends),
            dict(scalars_of(self.model)),
            self.model.training,
        )
        return _Result(record, any(is_random(node) for node in nodes))

    def _constant(self, node: fx.Node, tensor: torch.Tensor) -> Parameter:
        """A tensor that is neither input nor parameter: an attribute of the model, or made by its code."""
        attribute = next((name for name, own in self.state.items() if own is tensor), "")
        self.names[node.name] = self._free_name(attribute.replace(".", "_") or "constant")
        return Parameter(self.names[node.name], attribute, *form(tensor))

    def _free_name(self, wanted: str) -> str:
        taken = {record.name for record, _ in self.inputs} | set(self.names.values())
        name, number = wanted, 1
        while name in taken:
            name, number = f"{wanted}_{number}", number + 1
        return name
