"""The operators of a task's forward pass, in order, at its full shape.

Traced on fake tensors before any decomposition, so a 40 GB task costs nothing and `nn.GRU`, `layer_norm` or
`softmax` stay one node each. A task that branches on values has no such graph: it gets a reason instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import fx, nn

from tilesmith.tasks.graph import MOST_NODES, Graph, Input, Node, Parameter
from tilesmith.tasks.shrunk_variants import make_doubled_variants
from tilesmith.worker.compat.torch_names import FakeTensor, TorchFunctionMode, storage_of, trace_on_fakes
from tilesmith.worker.task.fake_tensors import fake_tensors
from tilesmith.worker.task.forward_arguments import ForwardArguments
from tilesmith.worker.task.loading import LoadedTask, build_model, load_task, unload
from tilesmith.worker.task.recurrent_nodes import recurrent_as_nodes
from tilesmith.worker.task.task_faults import one_line
from tilesmith.worker.task.traced.graph_records import (
    filled,
    form,
    inputs_of,
    is_idle_dropout,
    is_random,
    laid_out,
    literal,
    node_record,
    plain_state_of,
    scalars_of,
    signature_of,
    tensors_of,
    written_by,
)
from tilesmith.worker.task.traced.stand_ins import find_stand_in
from tilesmith.worker.task.traced.turns import Traced, with_turns
from tilesmith.worker.task.traced.watched_numbers import WatchedNumber, computed_from, watch_numbers
from tilesmith.worker.task.traced.watched_sizes import SizeWatch
from tilesmith.worker.tensors.exchange import map_tensors

_CALLS_PER_NODE = 10
"""Python calls into torch per operator, at most: most read a shape or build an argument."""
_MOST_NUMBERS = 64
"""Of a constant that a graph tells."""
_MOST_TRACES, _NODES_OF_TRACES = 16, 2000
"""Traces at other shapes, and how many nodes they have together."""
_LIFTED = torch.ops.aten.lift_fresh_copy.default


def trace(loaded: LoadedTask, training: bool | None = None) -> Traced:
    """The graph of the task in the mode it is judged in; where that is not known, evaluation if training would be
    random."""
    try:
        with fake_tensors(), torch.no_grad():
            again = load_task(loaded.source)
            try:
                return _graph(again, training)
            finally:
                unload(again)
    except _TooLarge as error:
        return Traced(None, str(error))
    except Exception as error:  # whatever the task's code does when it meets a tensor without values
        return Traced(None, f"the forward pass could not be traced: {_in_words(error)}")


def trace_varying(loaded: LoadedTask, others: Sequence[str], training: bool | None = None) -> Traced:
    """The same graph, which says what its numbers are at other shapes: those of the texts, and those in which one
    size of the inputs alone is another."""
    traced = trace(loaded, training)
    if traced.graph is None:
        return traced
    most = min(_MOST_TRACES, max(len(others), _NODES_OF_TRACES // max(len(traced.graph.nodes), 1)))
    doubled = [variant.text for variant in make_doubled_variants(loaded.source)]
    elsewhere: list[Traced] = []
    for text in (*others, *doubled)[: 2 * most]:  # not every size can be another one alone
        other = trace(replace(loaded, source=replace(loaded.source, text=text)), training)
        if other.graph is not None and other.graph.inputs != traced.graph.inputs and len(elsewhere) < most:
            elsewhere.append(other)
    return replace(traced, graph=with_turns(traced, elsewhere))


def _in_words(error: Exception) -> str:
    """What fake tensors say by the name of an exception alone."""
    operator = str(error).removeprefix("aten.").partition(".")[0]
    if type(error).__name__ == "DynamicOutputShapeException":
        return f"how large the result of {operator} is depends on values"
    if type(error).__name__ == "DataDependentOutputException":
        return f"it goes by values of tensors ({operator})"
    return one_line(error)


class _TooLarge(Exception):
    """More operators than a graph may have."""


class _Watching(TorchFunctionMode):
    """Gives up on a loop of many thousand steps while it runs, not when it is over; watches sizes."""

    def __init__(self, watch: SizeWatch) -> None:
        super().__init__()
        self._calls, self._watch = 0, watch

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._calls += 1
        if self._calls > _CALLS_PER_NODE * MOST_NODES:
            raise _TooLarge(f"the forward pass has more than {MOST_NODES} operators, the most that make a graph")
        return self._watch.read(
            func, args, kwargs or {}, find_stand_in(func, args, kwargs or {})(*args, **(kwargs or {}))
        )


def _graph(loaded: LoadedTask, training: bool | None) -> Traced:
    model, arguments = build_model(loaded), loaded.make_inputs(seed=0)
    traced = TracedRun(model if training is None else model.train(training), arguments)
    module = traced.run()
    if training is None and model.training and any(is_random(node) for node in module.graph.nodes):
        return _graph(loaded, False)
    return traced.translated(module)


class TracedRun:
    """One run of the model under the tracer, and its translation into records."""

    def __init__(self, model: nn.Module, arguments: ForwardArguments) -> None:
        self._model, self._arguments = model, arguments
        self._inputs = list(inputs_of(model, arguments))
        self._owned = {**dict(model.named_parameters()), **dict(model.named_buffers())}
        self._outputs: Any = None
        self._assigned: dict[str, torch.Tensor] = {}
        self._numbers: list[WatchedNumber] = []
        self._sizes = SizeWatch()
        self._names: dict[str, str] = {}
        """Names of the graph by names of the tracer."""
        self._memory: dict[str, str] = {}
        self._owners: dict[int, str] = {}
        """The first value in every piece of memory."""

    def run(self) -> fx.GraphModule:
        tensors = [tensor for _, tensor in self._inputs if tensor is not None]
        for tensor in (*tensors, *self._owned.values()):
            if isinstance(tensor, FakeTensor):
                tensor.constant = None  # the number that it holds now is no number of the code

        def forward(*flat: torch.Tensor) -> list[torch.Tensor]:
            for (record, _), tensor in zip((one for one in self._inputs if one[1] is not None), flat, strict=False):
                self._sizes.know(tensor, record.expression)
            given, state = iter(flat[: len(tensors)]), dict(zip(self._owned, flat[len(tensors) :], strict=True))
            arguments = watch_numbers(map_tensors(self._arguments, lambda _: next(given)), self._numbers)
            with _Watching(self._sizes), self._watching_state(state):
                found = torch.func.functional_call(self._model, state, tuple(arguments.args), arguments.kwargs)
            leaves: list[torch.Tensor] = []
            self._outputs = laid_out(found, leaves)
            return [*leaves, *self._assigned.values()]

        with recurrent_as_nodes():
            return trace_on_fakes(forward)(*tensors, *self._owned.values())

    @contextmanager
    def _watching_state(self, state: dict[str, torch.Tensor]) -> Iterator[None]:
        """Notes which tensors of the model are others after the pass; what Python keeps must stay as it is."""
        tensors, plain = state | dict(tensors_of(self._model)), dict(plain_state_of(self._model))

        def compare(*_: Any) -> None:
            owned = {**dict(self._model.named_parameters()), **dict(self._model.named_buffers())}
            now = owned | dict(tensors_of(self._model))
            self._assigned = {name: one for name, one in now.items() if one is not tensors.get(name)}
            for name, value in plain_state_of(self._model):
                if name in plain and plain[name] != value:
                    raise ValueError(f"forward changes self.{name}, which is no tensor")

        hook = self._model.register_forward_hook(compare)
        try:
            yield
        finally:
            hook.remove()

    def translated(self, module: fx.GraphModule) -> Traced:
        nodes = list(module.graph.nodes)
        if len(nodes) > MOST_NODES:
            raise _TooLarge(f"the forward pass has {len(nodes)} operators; at most {MOST_NODES} make a graph")
        given = [record.name for record, _ in self._inputs if record.shape is not None]
        owned = list(self._owned)
        parameters: list[Parameter] = []
        found: list[Node] = []
        writes: dict[str, tuple[str, ...]] = {}
        for node in nodes:
            if node.op == "placeholder":
                if given:
                    self._names[node.name] = given.pop(0)
                else:
                    parameters.append(self._parameter(node, self._owned[owned[0]], owned.pop(0)))
            elif node.op == "get_attr":
                parameters.append(self._constant(node, getattr(module, node.target)))
            elif node.op == "call_function" and node.target is _LIFTED:
                self._names[node.name] = self._names[node.args[0].name]  # the constant itself
            elif node.op == "call_function" and getattr(node.target, "__name__", "") != "_set_grad_enabled":
                self._names[node.name] = self._free_name(node.name)
                found.append(node_record(node, self._names))
                if written := written_by(node):
                    writes[self._names[node.name]] = tuple(self._names[one.name] for one in written)
            self._note_memory(node)
        ends = [self._names[end.name] for end in nodes[-1].args[0]]
        assigned = dict(zip(reversed(self._assigned), reversed(ends), strict=False))
        random = tuple(self._names[node.name] for node in nodes if node.op == "call_function" and is_random(node))
        inputs = self._input_records()
        graph = Graph(
            inputs=inputs,
            parameters=tuple(parameters),
            nodes=tuple(found),
            outputs=filled(self._outputs, ends),
            scalars=dict(scalars_of(self._model)),
            training=self._model.training,
            memory=self._memory,
            writes=writes,
            random=random,
            assigned=assigned,
            signature=signature_of(self._model),
            computed=computed_from(self._numbers, [one.expression for one in inputs if type(one.value) is float]),
        )
        return Traced(graph, None, tuple(self._sizes.asked), tuple(self._sizes.readings))

    def _input_records(self) -> tuple[Input, ...]:
        numbers = iter(self._numbers)
        records = (record for record, _ in self._inputs)
        return tuple(
            replace(one, decides=next(numbers).looked_at) if type(one.value) is float else one for one in records
        )

    def _note_memory(self, node: fx.Node) -> None:
        tensor = node.meta.get("val")
        if isinstance(tensor, torch.Tensor):
            name = self._names[node.name]
            owner = self._owners.setdefault(storage_of(tensor), name)
            if is_idle_dropout(node):  # on fakes it copies
                source = self._names[node.args[0].name]
                owner = self._owners[storage_of(tensor)] = self._memory.get(source, source)
            if owner != name:
                self._memory[name] = owner

    def _parameter(self, node: fx.Node, tensor: torch.Tensor, attribute: str, values: Any = None) -> Parameter:
        self._names[node.name] = self._free_name(attribute.replace(".", "_") or "constant")
        return Parameter(self._names[node.name], attribute, *form(tensor), values)

    def _constant(self, node: fx.Node, tensor: torch.Tensor) -> Parameter:
        """A tensor that is neither input nor parameter: an attribute of the model, or made by its code."""
        attribute = next((name for name, own in tensors_of(self._model) if own is tensor), "")
        is_told = not attribute and tensor.numel() <= _MOST_NUMBERS and not isinstance(tensor, FakeTensor)
        return self._parameter(node, tensor, attribute, literal(tensor.tolist(), {}) if is_told else None)

    def _free_name(self, wanted: str) -> str:
        taken = {record.name for record, _ in self._inputs} | set(self._names.values())
        name, number = wanted, 1
        while name in taken:
            name, number = f"{wanted}_{number}", number + 1
        return name
