"""The forward pass of one call of a module as flat Python text: PyTorch operators, one a line.

Branches and plain values are those of this call, and a guard lets no other through. The text speaks of the module's
tensors as `self.name` and of sizes by the names it is given, so that a judge can try other sizes.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import fx, nn

from tilesmith.errors import TaskError
from tilesmith.live.calls.kept_state import keeping_attributes
from tilesmith.live.calls.nests import BareText, refilled, tensors_in
from tilesmith.live.calls.torch_names import (
    OpOverload,
    argument_names,
    set_grad_enabled,
    trace_with_fakes,
    unlogged_failures,
)
from tilesmith.records import ArgumentSpec

_MOST_LINES = 400
_MOST_CONSTANT_ELEMENTS = 1024
_RECURRENT = ("aten.gru.input", "aten.lstm.input", "aten.rnn_tanh.input", "aten.rnn_relu.input")
_PROBABILITIES = ("p", "dropout", "dropout_p")
_SIZES = ("size", "sizes", "shape", "normalized_shape")
_PLAIN = (bool, int, float, str, type(None))


class NotTraceable(TaskError):
    """The code looks at values, or does what fake tensors cannot."""


def argument_name(spec: ArgumentSpec) -> str:
    """What an input is called in the text: `pair_0` for `pair[0]`."""
    name = "_".join(str(step) for step in spec.path)
    cleaned = "".join(character if character.isidentifier() or character.isdigit() else "_" for character in name)
    return f"{cleaned}_" if cleaned in ("self", "torch", "nn", "aten") else cleaned


def attribute_text(name: str) -> str:
    """`self.layers[0].weight` for `layers.0.weight`."""
    first, *rest = name.split(".")
    start = f"self.{first}" if first.isidentifier() else f"getattr(self, {first!r})"
    return start + "".join(f".{part}" if part.isidentifier() else f"[{part}]" for part in rest)


def trace_forward(
    module: nn.Module, bound: inspect.BoundArguments, names: Sequence[str], sizes: Mapping[int, str]
) -> str:
    """The body of `forward` with inputs called `names`. Raises TaskError where it cannot be written down."""
    given = tensors_in(bound.arguments)
    named = (module.named_parameters(remove_duplicate=False), module.named_buffers(remove_duplicate=False))
    owned = {name: tensor for tensors in named for name, tensor in tensors}
    found: list[Any] = []

    def forward(*flat: torch.Tensor) -> list[torch.Tensor]:
        call = inspect.BoundArguments(
            bound.signature,
            refilled(dict(bound.arguments), iter(flat[: len(given)])),
        )
        state = dict(zip((f"0.{name}" for name in owned), flat[len(given) :], strict=True))
        found.append(torch.func.functional_call(_Forward(module), state, call.args, call.kwargs, tie_weights=False))
        return tensors_in(found[-1])

    leaves = [*names, *map(attribute_text, owned)]
    with keeping_attributes(module):
        steps = trace_steps(forward, [*given, *owned.values()], leaves, sizes)
    refuse_output(found[-1])
    outputs = refilled(found[-1], map(BareText, steps.outputs))
    return "\n".join([*steps.lines, f"return {outputs!r}"])


class _Forward(nn.ModuleList):
    """A module without the hooks that run around its forward, and go on doing so around a kernel."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__([module])

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self[0].forward(*args, **kwargs)


class TracedSteps(NamedTuple):
    lines: tuple[str, ...]
    outputs: tuple[str, ...]
    """What the lines call the tensors that are returned."""


def trace_steps(
    run: Callable[..., list[torch.Tensor]],
    tensors: Sequence[torch.Tensor],
    leaves: Sequence[str],
    sizes: Mapping[int, str],
) -> TracedSteps:
    """What `run` does with `tensors`, which the lines call `leaves`. Each is a leaf of its own, even if another is
    the same tensor: the next call may have two."""
    try:
        with torch.no_grad(), unlogged_failures():
            traced = trace_with_fakes(run)(*(one.detach() for one in tensors))
    except Exception as error:  # whatever the module's code does when it meets a tensor without values
        line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise NotTraceable(f"its forward pass cannot be traced: {line[:160]}") from None
    return _ForwardText(traced, leaves, sizes).write()


def refuse_output(value: Any) -> None:
    """A kernel must return exactly what the module does, so it must be clear what that is."""
    if type(value) is dict:
        value = list(value.values())
    if type(value) in (list, tuple):
        for item in value:
            refuse_output(item)
    elif not isinstance(value, torch.Tensor) and type(value) not in _PLAIN:
        raise TaskError(
            f"it returns a {type(value).__name__}, and only tensors in tuples, lists and dicts are known"
        )


class _ForwardText:
    def __init__(self, traced: fx.GraphModule, leaves: Sequence[str], sizes: Mapping[int, str]) -> None:
        self._traced, self._leaves, self._sizes = traced, leaves, sizes
        self._names: dict[fx.Node, str] = {}
        self._lines: list[str] = []

    def write(self) -> TracedSteps:
        nodes = list(self._traced.graph.nodes)
        leaves = iter(self._leaves)
        for node in nodes:
            if node.op == "placeholder":
                self._names[node] = next(leaves)
            elif node.op == "get_attr":
                self._name(node, self._constant(node))
            elif node.op == "call_function":
                self._call(node)
            elif node.op != "output":
                raise TaskError(f"its forward pass has a {node.op} in it")
        if len(self._lines) > _MOST_LINES:
            raise TaskError(f"its forward pass has {len(self._lines)} operators; capture the modules inside it")
        return TracedSteps(tuple(self._lines), tuple(self._names[one] for one in nodes[-1].args[0]))

    def _name(self, node: fx.Node, text: str) -> None:
        taken = {*self._names.values(), *self._sizes.values()}
        name, number = node.name, 1
        while name in taken:
            name, number = f"{node.name}_{number}", number + 1
        self._names[node] = name
        self._lines.append(f"{name} = {text}")

    def _call(self, node: fx.Node) -> None:
        target = node.target
        if target is set_grad_enabled:  # a kernel is called where no gradients are needed
            return
        if target is operator.getitem:
            self._name(node, f"{self._text(node.args[0])}[{node.args[1]!r}]")
            return
        if not isinstance(target, OpOverload):
            raise TaskError(f"its forward pass uses {getattr(target, '__name__', target)}, which has no plain text")
        operator_name = str(target)
        known = argument_names(target)
        values = {**dict(zip(known, node.args, strict=False)), **node.kwargs}
        if _is_random(target, values):
            cure = "use model.eval() or --eval, else the modules inside it"
            raise TaskError(f"it draws random numbers ({operator_name}); {cure}")
        if operator_name == "aten.dropout.default":
            self._names[node] = self._names[values["input"]]
            return
        if operator_name in _RECURRENT:
            self._lines.append(self._recurrent_sizes(values))
        args = [self._text(value, name in _SIZES) for value, name in zip(node.args, known, strict=False)]
        kwargs = [f"{name}={self._text(value, name in _SIZES)}" for name, value in node.kwargs.items()]
        path = operator_name if operator_name.startswith("aten.") else f"torch.ops.{operator_name}"
        self._name(node, f"{path}({', '.join([*args, *kwargs])})")

    def _recurrent_sizes(self, values: Mapping[str, Any]) -> str:
        """As the module would test them: the operator trusts its input to fit, and reads beyond weights."""
        states = values["hx"] if isinstance(values["hx"], list | tuple) else [values["hx"]]
        given, state, weight = (self._text(one) for one in (values["input"], states[0], values["params"][0]))
        batch = 0 if values["batch_first"] else 1
        return f"assert ({given}.shape[{batch}], {given}.shape[2]) == ({state}.shape[1], {weight}.shape[1])"

    def _text(self, value: Any, sized: bool = False) -> str:
        if isinstance(value, fx.Node):
            return self._names[value]
        if isinstance(value, list | tuple):
            return f"[{', '.join(self._text(item, sized) for item in value)}]"
        if isinstance(value, torch.device):
            return f"{self._leaves[0]}.device"
        if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
            return str(value)
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        if sized and type(value) is int and value in self._sizes:
            return self._sizes[value]
        if type(value) in _PLAIN:
            return repr(value)
        raise TaskError(f"its forward pass uses a {type(value).__name__}, which has no plain text")

    def _constant(self, node: fx.Node) -> str:
        tensor = getattr(self._traced, node.target)
        if not all(str(user.target).startswith("aten.lift_fresh") for user in node.users):
            raise TaskError("it uses a tensor that is neither an argument nor its own parameter or buffer")
        if tensor.numel() > _MOST_CONSTANT_ELEMENTS:
            raise TaskError(f"its forward pass makes a tensor of {tensor.numel()} values: use register_buffer")
        values = tensor.tolist() if tensor.dtype != torch.bfloat16 else tensor.float().tolist()
        text = repr(values).replace("inf", 'float("inf")').replace("nan", 'float("nan")')
        return f"torch.tensor({text}, dtype={tensor.dtype}, device={self._leaves[0]}.device)"


def _is_random(target: Any, values: Mapping[str, Any]) -> bool:
    """Operators that are random only in training have a probability, and most of them a switch."""
    if torch.Tag.nondeterministic_seeded not in target.tags:
        return False
    probability = next((values.get(name, 0.0) for name in _PROBABILITIES if name in argument_names(target)), 1.0)
    return bool(probability and values.get("train", True))
