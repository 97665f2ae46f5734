"""The operators of a task's forward pass, in order, at its full shape.

Traced on fake tensors before any decomposition, so a 40 GB task costs nothing and `nn.GRU`, `layer_norm` or
`softmax` stay one node each. A task that branches on values has no such graph: it gets a reason instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import fx, nn

from tilesmith.tasks.graph import MOST_NODES, Graph, Node, Parameter
from tilesmith.worker.compat.torch_names import TorchFunctionMode, trace_on_fakes
from tilesmith.worker.task.fake_tensors import fake_tensors
from tilesmith.worker.task.forward_arguments import ForwardArguments
from tilesmith.worker.task.graph_records import (
    filled,
    form,
    inputs_of,
    is_random,
    laid_out,
    node_record,
    scalars_of,
    tensors_of,
)
from tilesmith.worker.task.loading import LoadedTask, build_model, load_task, unload
from tilesmith.worker.task.recurrent_nodes import recurrent_as_nodes
from tilesmith.worker.task.task_faults import one_line
from tilesmith.worker.tensors.exchange import map_tensors

_CALLS_PER_NODE = 10
"""Python calls into torch per operator, at most: most read a shape or build an argument."""


@dataclass(frozen=True)
class Traced:
    """A graph, or the reason why there is none."""

    graph: Graph | None
    reason: str | None


def trace(loaded: LoadedTask, training: bool | None = None) -> Traced:
    """The graph of the task in the mode it is judged in; where that is not known, evaluation if training would be
    random."""
    try:
        with fake_tensors(), torch.no_grad():
            again = load_task(loaded.source)
            try:
                model, arguments = build_model(again), again.make_inputs(seed=0)
                if training is not None:
                    model.train(training)
                return Traced(_graph(model, arguments, training is None), None)
            finally:
                unload(again)
    except _TooLarge as error:
        return Traced(None, str(error))
    except Exception as error:  # whatever the task's code does when it meets a tensor without values
        return Traced(None, f"the forward pass could not be traced: {one_line(error)}")


class _TooLarge(Exception):
    """More operators than a graph may have."""


class _OperatorLimit(TorchFunctionMode):
    """Gives up on a loop of many thousand steps while it runs, not when it is over."""

    def __init__(self) -> None:
        super().__init__()
        self._calls = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._calls += 1
        if self._calls > _CALLS_PER_NODE * MOST_NODES:
            raise _TooLarge(f"the forward pass has more than {MOST_NODES} operators, the most that make a graph")
        return func(*args, **(kwargs or {}))


def _graph(model: nn.Module, arguments: ForwardArguments, may_change_mode: bool) -> Graph:
    traced = _TracedRun(model, arguments)
    module = traced.run()
    if may_change_mode and model.training and any(is_random(node) for node in module.graph.nodes):
        model.eval()
        traced = _TracedRun(model, arguments)
        module = traced.run()
    return traced.translated(module)


class _TracedRun:
    """One run of the model under the tracer, and its translation into records."""

    def __init__(self, model: nn.Module, arguments: ForwardArguments) -> None:
        self._model, self._arguments = model, arguments
        self._inputs = list(inputs_of(model, arguments))
        self._owned = {**dict(model.named_parameters()), **dict(model.named_buffers())}
        self._outputs: Any = None
        self._names: dict[str, str] = {}
        """Names of the graph by names of the tracer."""

    def run(self) -> fx.GraphModule:
        tensors = [tensor for _, tensor in self._inputs if tensor is not None]

        def forward(*flat: torch.Tensor) -> list[torch.Tensor]:
            given, state = iter(flat[: len(tensors)]), dict(zip(self._owned, flat[len(tensors) :], strict=True))
            arguments = map_tensors(self._arguments, lambda _: next(given))
            with _OperatorLimit():
                found = torch.func.functional_call(self._model, state, tuple(arguments.args), arguments.kwargs)
            leaves: list[torch.Tensor] = []
            self._outputs = laid_out(found, leaves)
            return leaves

        with recurrent_as_nodes():
            return trace_on_fakes(forward)(*tensors, *self._owned.values())

    def translated(self, module: fx.GraphModule) -> Graph:
        nodes = list(module.graph.nodes)
        if len(nodes) > MOST_NODES:
            raise _TooLarge(f"the forward pass has {len(nodes)} operators; at most {MOST_NODES} make a graph")
        given = [record.name for record, _ in self._inputs if record.shape is not None]
        owned = list(self._owned)
        parameters: list[Parameter] = []
        found: list[Node] = []
        for node in nodes:
            if node.op == "placeholder":
                if given:
                    self._names[node.name] = given.pop(0)
                else:
                    parameters.append(self._parameter(node, self._owned[owned[0]], owned.pop(0)))
            elif node.op == "get_attr":
                parameters.append(self._constant(node, getattr(module, node.target)))
            elif node.op == "call_function":
                self._names[node.name] = self._free_name(node.name)
                found.append(node_record(node, self._names))
        outputs = filled(self._outputs, [self._names[end.name] for end in nodes[-1].args[0]])
        inputs, scalars = tuple(record for record, _ in self._inputs), dict(scalars_of(self._model))
        return Graph(inputs, tuple(parameters), tuple(found), outputs, scalars, self._model.training)

    def _parameter(self, node: fx.Node, tensor: torch.Tensor, attribute: str) -> Parameter:
        self._names[node.name] = self._free_name(attribute.replace(".", "_") or "constant")
        return Parameter(self._names[node.name], attribute, *form(tensor))

    def _constant(self, node: fx.Node, tensor: torch.Tensor) -> Parameter:
        """A tensor that is neither input nor parameter: an attribute of the model, or made by its code."""
        attribute = next((name for name, own in tensors_of(self._model) if own is tensor), "")
        return self._parameter(node, tensor, attribute)

    def _free_name(self, wanted: str) -> str:
        taken = {record.name for record, _ in self._inputs} | set(self._names.values())
        name, number = wanted, 1
        while name in taken:
            name, number = f"{wanted}_{number}", number + 1
        return name
