"""What the tracer saw, as the records of `tasks.graph`."""

from __future__ import annotations

import inspect
import math
import operator
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import torch
from torch import fx, nn

from tilesmith.tasks.graph import GETITEM, Input, Node
from tilesmith.worker.compat.torch_names import schema_of
from tilesmith.worker.task.forward_arguments import ForwardArguments
from tilesmith.worker.task.recurrent_nodes import REAL_NAMES
from tilesmith.worker.task.traced import stand_ins
from tilesmith.worker.tensors.exchange import is_record

_RANDOM = torch.Tag.nondeterministic_seeded
TAGS = frozenset({"node", "value", "tuple", "record"})
"""Keys that a nest of outputs has a use of its own for, where they are alone."""
_TURNING = ("detach_", "unsqueeze_", "squeeze_", "t_", "transpose_", "swapdims_", "swapaxes_")
"""Operators in place that change what a tensor looks like, not what is in it."""
_SWITCHES = {"dropout": (1, 2), "gru": (5, 6), "lstm": (5, 6), "rnn_tanh": (5, 6), "rnn_relu": (5, 6)}
"""Operators that are random only in training: where their probability and their switch are."""


def inputs_of(model: nn.Module, arguments: ForwardArguments) -> Iterator[tuple[Input, torch.Tensor | None]]:
    """Tensors and plain values among the arguments, in the order in which `map_tensors` meets them."""
    for argument, start, value in _places(model, arguments):
        for path, item in _leaves(value, start):
            name = "_".join([argument, *(str(step) for step in path)])
            if isinstance(item, torch.Tensor):
                yield Input(name, argument, path, *form(item)), item
            else:
                yield Input(name, argument, path, None, None, None, literal(item, {})), None


def _places(model: nn.Module, arguments: ForwardArguments) -> Iterator[tuple[str, tuple[Any, ...], Any]]:
    """Every argument: the parameter of `forward` that holds it, where it is in there, and its value."""
    parameters = inspect.signature(model.forward).parameters.values()
    by_kind = {one.kind: one.name for one in parameters}
    collecting = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = [one.name for one in parameters if one.kind not in collecting]
    places = [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    for position, value in enumerate(arguments.args):
        beyond = position - len(places)
        yield (places[position], (), value) if beyond < 0 else (by_kind[collecting[0]], (beyond,), value)
    for key, value in arguments.kwargs.items():
        yield (key, (), value) if key in named else (by_kind[collecting[1]], (key,), value)


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


def plain_state_of(model: nn.Module) -> Iterator[tuple[str, Any]]:
    """What Python keeps in the model beside tensors: numbers and words, and how many things its lists have."""
    for prefix, module in model.named_modules():
        for key, value in vars(module).items():
            if value is None or isinstance(value, bool | int | float | str):
                yield f"{prefix}.{key}".lstrip("."), value
            elif isinstance(value, list | dict | set | deque) and not key.startswith("_"):
                yield f"{prefix}.{key}".lstrip("."), len(value)


def node_record(node: fx.Node, names: dict[str, str]) -> Node:
    value = node.meta.get("val")
    shape, dtype = (form(value)[0], form(value)[2]) if isinstance(value, torch.Tensor) else (None, None)
    args = tuple(literal(argument, names) for argument in node.args)
    kwargs = {key: literal(argument, names) for key, argument in node.kwargs.items()}
    return Node(names[node.name], _op(node), args, kwargs, shape, dtype)


def _op(node: fx.Node) -> str:
    if node.target is operator.getitem:
        return GETITEM
    if not hasattr(node.target, "namespace"):  # a switch, not an operator
        return str(getattr(node.target, "__name__", node.target))
    name = str(node.target)
    return (
        name.replace("_.", ".", 1)
        if _turns_its_operand(node)
        else REAL_NAMES.get(name, stand_ins.REAL_NAMES.get(name, name))
    )


def _turns_its_operand(node: fx.Node) -> bool:
    """Whether the operator gives a value of the pass another shape and leaves its memory alone."""
    return str(node.target).split(".")[-2] in _TURNING and node.args[0].op == "call_function"


def written_by(node: fx.Node) -> list[fx.Node]:
    """The operands that an operator writes into. Batch norm in training does, though its schema does not say so."""
    if not hasattr(node.target, "namespace") or _turns_its_operand(node):
        return []
    written: list[Any] = [
        value
        for place, argument in enumerate(schema_of(node.target).arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
        for value in [node.args[place] if place < len(node.args) else node.kwargs.get(argument.name)]
    ]
    if _op(node).split(".")[1] in ("batch_norm", "instance_norm") and node.args[5]:
        written += node.args[3:5]
    flat = [one for value in written for one in (value if isinstance(value, list | tuple) else [value])]
    return [one for one in flat if isinstance(one, fx.Node)]


def literal(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, fx.Node):
        return {"node": names[value.name]}
    if isinstance(value, list | tuple):
        return [literal(item, names) for item in value]
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, float):
        number = float(value)
        return number if math.isfinite(number) else {"float": str(number)}
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if value is None or isinstance(value, bool | str):
        return value
    return {"other": str(value)}


def laid_out(value: Any, leaves: list[torch.Tensor]) -> Any:
    """The nest of the outputs with positions in place of tensors."""
    if isinstance(value, torch.Tensor):
        leaves.append(value)
        return len(leaves) - 1
    if is_record(value):
        return _record(value, {one.name: getattr(value, one.name) for one in fields(value)}, leaves)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _record(value, value._asdict(), leaves)
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value) or (len(value) == 1 and set(value) <= TAGS):
            raise ValueError(f"a graph has no word for an output dictionary with the keys {list(value)}")
        return {key: laid_out(item, leaves) for key, item in value.items()}
    if isinstance(value, tuple):
        return {"tuple": [laid_out(item, leaves) for item in value]}
    if isinstance(value, list):
        return [laid_out(item, leaves) for item in value]
    if value is not None and not isinstance(value, bool | int | float | str):
        raise ValueError(f"a graph has no word for an output of the class {type(value).__qualname__}")
    return {"value": int(value) if isinstance(value, int) and not isinstance(value, bool) else value}


def _record(value: Any, parts: dict[str, Any], leaves: list[torch.Tensor]) -> Any:
    """Made by its class from its fields, which the task's own module must know by that name."""
    kind = type(value)
    if getattr(sys.modules.get(kind.__module__), kind.__name__, None) is not kind:
        raise ValueError(f"a graph has no word for an output of the class {kind.__qualname__}")
    return {"record": {kind.__name__: {name: laid_out(item, leaves) for name, item in parts.items()}}}


def filled(layout: Any, ends: list[str]) -> Any:
    if isinstance(layout, int):
        return {"node": ends[layout]}
    if isinstance(layout, list):
        return [filled(item, ends) for item in layout]
    if set(layout) == {"value"}:
        return layout
    return {key: filled(item, ends) for key, item in layout.items()}


def signature_of(module: nn.Module) -> str:
    """Of its forward, without annotations; empty where a default is no plain value."""
    parameters = list(inspect.signature(type(module).forward).parameters.values())
    defaults = [one.default for one in parameters if one.default is not one.empty]
    plain = all(isinstance(one, bool | int | float | str | None) for one in defaults)
    bare = [one.replace(annotation=one.empty) for one in parameters]
    return str(inspect.Signature(bare))[1:-1] if plain else ""


def is_idle_dropout(node: fx.Node) -> bool:
    """Whether it is a dropout that gives its operand itself."""
    return node.op == "call_function" and _op(node) == "aten.dropout.default" and not is_random(node)


def is_random(node: fx.Node) -> bool:
    """Whether the operator draws numbers in the mode it was called in."""
    name = _op(node).split(".")
    if name[1:2] == ["scaled_dot_product_attention"]:
        return bool(node.args[4] if len(node.args) > 4 else node.kwargs.get("dropout_p", 0.0))
    if len(name) > 1 and name[1] in _SWITCHES:
        probability, switch = _SWITCHES[name[1]]
        return bool(node.args[probability] and node.args[switch])
    return _RANDOM in getattr(node.target, "tags", ())
