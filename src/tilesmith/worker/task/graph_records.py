"""What the tracer saw, as the records of `tasks.graph`."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Iterator
from typing import Any

import torch
from torch import fx, nn

from tilesmith.tasks.graph import GETITEM, Input, Node
from tilesmith.worker.task.forward_arguments import ForwardArguments
from tilesmith.worker.task.recurrent_nodes import REAL_NAMES
from tilesmith.worker.tensors.exchange import is_record

_RANDOM = torch.Tag.nondeterministic_seeded
TAGS = frozenset({"node", "value", "tuple"})
"""Keys that a nest of outputs has a use of its own for, where they are alone."""
_SWITCHES = {"dropout": (1, 2), "gru": (5, 6), "lstm": (5, 6), "rnn_tanh": (5, 6), "rnn_relu": (5, 6)}
"""Operators that are random only in training: where their probability and their switch are."""


def inputs_of(model: nn.Module, arguments: ForwardArguments) -> Iterator[tuple[Input, torch.Tensor | None]]:
    """Tensors and plain values among the arguments, in the order in which `map_tensors` meets them."""
    positional = zip(_argument_names(model, len(arguments.args)), arguments.args, strict=True)
    for argument, value in (*positional, *arguments.kwargs.items()):
        for path, item in _leaves(value, ()):
            name = "_".join([argument, *(str(step) for step in path)])
            if isinstance(item, torch.Tensor):
                yield Input(name, argument, path, *form(item)), item
            else:
                yield Input(name, argument, path, None, None, None, _literal(item, {})), None


def _argument_names(model: nn.Module, count: int) -> list[str]:
    names: list[str] = []
    for parameter in inspect.signature(model.forward).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}_{position}" for position in range(count - len(names))]
        elif parameter.kind is not parameter.KEYWORD_ONLY:
            names.append(parameter.name)
    return names[:count]


def _leaves(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list | tuple):
        for position, item in enumerate(value):
            yield from _leaves(item, (*path, position))
    else:
        yield path, value


def form(tensor: torch.Tensor) -> tuple[tuple[int, ...], tuple[int, ...], str]:
    return tuple(tensor.shape), tuple(tensor.stride()), str(tensor.dtype).removeprefix("torch.")


def tensors_of(model: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Tensors kept as plain attributes, by dotted name."""
    for prefix, module in model.named_modules():
        for key, value in vars(module).items():
            if isinstance(value, torch.Tensor):
                yield f"{prefix}.{key}".lstrip("."), value


def scalars_of(model: nn.Module) -> Iterator[tuple[str, float]]:
    for prefix, module in model.named_modules():
        for key, value in vars(module).items():
            if type(value) in (int, float) and not key.startswith("_") and math.isfinite(value):
                yield f"{prefix}.{key}".lstrip("."), value


def node_record(node: fx.Node, names: dict[str, str]) -> Node:
    value = node.meta.get("val")
    shape, dtype = (form(value)[0], form(value)[2]) if isinstance(value, torch.Tensor) else (None, None)
    args = tuple(_literal(argument, names) for argument in node.args)
    kwargs = {key: _literal(argument, names) for key, argument in node.kwargs.items()}
    return Node(names[node.name], _op(node), args, kwargs, shape, dtype)


def _op(node: fx.Node) -> str:
    name = GETITEM if node.target is operator.getitem else str(node.target)
    return REAL_NAMES.get(name, name)


def _literal(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, fx.Node):
        return {"node": names[value.name]}
    if isinstance(value, list | tuple):
        return [_literal(item, names) for item in value]
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return {"other": str(value)}


def laid_out(value: Any, leaves: list[torch.Tensor]) -> Any:
    """The nest of the outputs with positions in place of tensors."""
    if isinstance(value, torch.Tensor):
        leaves.append(value)
        return len(leaves) - 1
    if is_record(value):
        raise ValueError(f"a graph has no word for an output that is a dataclass ({type(value).__name__})")
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value) or (len(value) == 1 and set(value) <= TAGS):
            raise ValueError(f"a graph has no word for an output dictionary with the keys {list(value)}")
        return {key: laid_out(item, leaves) for key, item in value.items()}
    if isinstance(value, tuple):
        return {"tuple": [laid_out(item, leaves) for item in value]}
    if isinstance(value, list):
        return [laid_out(item, leaves) for item in value]
    return {"value": value if value is None or isinstance(value, bool | int | float | str) else str(value)}


def filled(layout: Any, ends: list[str]) -> Any:
    if isinstance(layout, int):
        return {"node": ends[layout]}
    if isinstance(layout, list):
        return [filled(item, ends) for item in layout]
    if set(layout) == {"value"}:
        return layout
    return {key: filled(item, ends) for key, item in layout.items()}


def is_random(node: fx.Node) -> bool:
    """Whether the operator draws numbers in the mode it was called in."""
    name = _op(node).split(".")
    if name[1:2] == ["scaled_dot_product_attention"]:
        return bool(node.args[4] if len(node.args) > 4 else node.kwargs.get("dropout_p", 0.0))
    if len(name) > 1 and name[1] in _SWITCHES:
        probability, switch = _SWITCHES[name[1]]
        return bool(node.args[probability] and node.args[switch])
    return _RANDOM in getattr(node.target, "tags", ())
