"""`torch.compile(model, backend="tilesmith", options={"library": "kernels/", "inner": "inductor"})`.

Calls of modules that a library has a kernel for become one operator each; everything else, and everything when
gradients are needed or anything fails, goes to the inner backend. A part of the graph is replaced only if its
operators are word for word those of the task that the kernel was judged on.
"""

from __future__ import annotations

import itertools
import logging
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import fx, nn

from tilesmith.errors import TaskError, UsageError
from tilesmith.live.calls.call_records import KernelCard, TensorSpec
from tilesmith.live.calls.nests import tensors_in
from tilesmith.live.calls.torch_names import lookup_backend
from tilesmith.live.captured.traced_forward import argument_name, attribute_text, trace_steps
from tilesmith.live.kernel_cards import KERNEL_NAME, find_cards, read_card, why_not_here
from tilesmith.live.swaps.kernel_files import build_kernel
from tilesmith.records import ArgumentSpec
from tilesmith.tasks.calls.argument_description import describe_argument
from tilesmith.tasks.calls.call_tests import MOST_ELEMENTS

_LOG = logging.getLogger("tilesmith")
_OWNED = re.compile(r"_(?:modules|parameters|buffers)\['([^']+)'\]")
_MOST_INPUTS = 3
_operators = torch.library.Library("tilesmith", "FRAGMENT")
_numbers = itertools.count(1)


def tilesmith(graph: fx.GraphModule, inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None) -> Any:
    """A backend of torch.compile."""
    chosen = dict(options or {})
    library, inner = chosen.pop("library", None), lookup_backend(chosen.pop("inner", "inductor"))
    if library is None:
        raise UsageError(
            'name the kernels: torch.compile(model, backend="tilesmith", options={"library": "kernels/"})'
        )
    cards = find_cards(Path(library))
    rest = {"options": chosen} if chosen else {}
    wants_gradients = torch.is_grad_enabled() and any(one.requires_grad for one in tensors_in(list(inputs)))
    if wants_gradients or torch.is_autocast_enabled("cuda") or torch.is_autocast_enabled("cpu"):
        return inner(graph, inputs, **rest)
    try:
        return inner(with_kernels(graph, read_library(cards)), inputs, **rest)
    except Exception as error:  # the inner backend must not fail because of us
        _LOG.warning("kernels are left out: %s: %s", type(error).__name__, error)
        return inner(graph, inputs, **rest)


@dataclass(frozen=True)
class LibraryKernel:
    """A kernel that may be used on this machine, and the task it was judged on."""

    card: KernelCard
    kernel: nn.Module
    task: nn.Module


def read_library(cards: Sequence[Path]) -> tuple[LibraryKernel, ...]:
    found = []
    for path in cards:
        card, kernel, task = read_card(path), path.parent / KERNEL_NAME, path.parent / "task.py"
        why = why_not_here(card, kernel)
        if why is None and card.flat and not card.prefix and task.exists():
            module = types.ModuleType("tilesmith_library_task")
            exec(compile(task.read_text(encoding="utf-8"), str(task), "exec"), vars(module))
            found.append(LibraryKernel(card, build_kernel(kernel), module.Model().to("meta")))
        elif why is not None:
            _LOG.warning("%s: not loaded: %s", kernel, why)
    return tuple(found)


def with_kernels(module: fx.GraphModule, library: Sequence[LibraryKernel]) -> fx.GraphModule:
    """A copy of the graph in which kernels stand for what they were judged to be equal to."""
    graph = fx.Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    count = 0
    for one in library:
        for name in one.card.names:
            for nodes in list(_calls_of(graph, name)):
                count += _replace(module, graph, nodes, name, one)
    _LOG.info("%d calls of modules are kernels", count)
    graph.eliminate_dead_code()
    return fx.GraphModule(module, graph)


def _calls_of(graph: fx.Graph, name: str) -> Iterator[list[fx.Node]]:
    """Runs of nodes that came from a module of this name."""
    for inside, nodes in itertools.groupby(graph.nodes, lambda node: _is_from(node, name)):
        if inside:
            yield list(nodes)


def _is_from(node: fx.Node, name: str) -> bool:
    stack = node.meta.get("nn_module_stack") or {}
    paths = [str(value[0]).partition(".")[2] for value in stack.values()]
    return node.op.startswith("call_") and name in paths


def _replace(module: fx.GraphModule, graph: fx.Graph, nodes: list[fx.Node], name: str, one: LibraryKernel) -> bool:
    inside = set(nodes)
    outside = list(dict.fromkeys(arg for node in nodes for arg in node.all_input_nodes if arg not in inside))
    ends = [node for node in nodes if any(user not in inside for user in node.users)]
    owned = {found: node for node in outside if (found := _owned_name(node, name)) is not None}
    given = [node for node in outside if node not in owned.values()]
    wanted = [spec.name for spec in one.card.spec.tensors]
    specs = one.card.spec.inputs
    if not set(owned) <= set(wanted) or len(given) != len(specs) or len(given) > _MOST_INPUTS:
        return False
    if set(wanted) - set(owned) or not all(isinstance(_value(node), torch.Tensor) for node in (*outside, *ends)):
        return False
    if not all(_fits(_value(owned[tensor.name]), tensor, {}) for tensor in one.card.spec.tensors):
        return False
    if any(_value(node).device.type != one.card.spec.device for node in outside):
        return False
    for order in itertools.permutations(given):
        letters: dict[Any, Any] = {}
        if not all(_fits(_value(node), spec, letters) for node, spec in zip(order, specs, strict=True)):
            continue
        leaves = [*order, *(owned[tensor] for tensor in wanted)]
        region = _region(module, nodes, leaves, ends)
        places = _places(region, one, leaves, wanted)
        if places is None:
            continue
        with graph.inserting_after(nodes[-1]):
            call = graph.call_function(_operator(one.kernel, region, wanted, len(order), places, ends), (leaves,))
        for place, end in reversed(list(enumerate(ends))):
            with graph.inserting_after(call):
                item = graph.call_function(_item, (call, place))
            end.replace_all_uses_with(item, delete_user_cb=lambda user: user not in inside)
        return True
    return False


def _item(values: Sequence[Any], place: int) -> Any:
    return values[place]


def _value(node: fx.Node) -> Any:
    return node.meta.get("example_value", node.meta.get("val"))


def _owned_name(node: fx.Node, name: str) -> str | None:
    """The name that a parameter or buffer has inside the module called `name`."""
    source = getattr(node.meta.get("grapharg"), "source", None)
    said = getattr(source, "name", "")
    full = ".".join(_OWNED.findall(said() if callable(said) else str(said)))
    return full.removeprefix(f"{name}.") if full.startswith(f"{name}.") else None


def _fits(value: torch.Tensor, spec: ArgumentSpec | TensorSpec, letters: dict[Any, Any]) -> bool:
    """`letters` remembers the sizes that may be any: one letter is one size."""
    if len(value.shape) != len(spec.shape) or not all(isinstance(size, int) for size in value.shape):
        return False
    (found,) = describe_argument(("",), value)
    pairs = zip(found.shape, spec.shape, strict=True)
    sizes = all(a == (letters.setdefault(b, a) if isinstance(b, str) else b) for a, b in pairs)
    return sizes and 0 < value.numel() < MOST_ELEMENTS and (found.dtype, found.stride) == (spec.dtype, spec.stride)


def _region(
    module: fx.GraphModule, nodes: Sequence[fx.Node], leaves: Sequence[fx.Node], ends: Sequence[fx.Node]
) -> fx.GraphModule:
    graph = fx.Graph()
    copied: dict[fx.Node, fx.Node] = {leaf: graph.placeholder(f"leaf_{place}") for place, leaf in enumerate(leaves)}
    for node in nodes:
        copied[node] = graph.node_copy(node, copied.__getitem__)
    graph.output([copied[end] for end in ends])
    return fx.GraphModule(module, graph)


def _places(
    region: fx.GraphModule, one: LibraryKernel, leaves: Sequence[fx.Node], wanted: Sequence[str]
) -> list[int] | None:
    """Which of the task's outputs the region's are; null where the two do not do the same."""
    tensors = [_on_meta(_value(leaf)) for leaf in leaves]
    count = len(leaves) - len(wanted)
    names = [argument_name(spec) for spec in one.card.spec.inputs] + [attribute_text(name) for name in wanted]

    def run_task(*flat: torch.Tensor) -> list[torch.Tensor]:
        state = dict(zip(wanted, flat[count:], strict=True))
        return tensors_in(torch.func.functional_call(one.task, state, flat[:count]))

    try:
        task = trace_steps(run_task, tensors, names, {})
        found = trace_steps(region, tensors, names, {})
    except TaskError:
        return None
    if task.lines != found.lines or not set(found.outputs) <= set(task.outputs):
        return None
    return [task.outputs.index(name) for name in found.outputs]


def _on_meta(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")


def _operator(
    kernel: nn.Module,
    region: Callable[..., Any],
    wanted: Sequence[str],
    count: int,
    places: Sequence[int],
    ends: Sequence[fx.Node],
) -> Any:
    """An operator of the dispatcher, which every inner backend takes for a whole."""
    name = f"kernel_{next(_numbers)}"
    strides = [tuple(_value(end).stride()) for end in ends]

    def run(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        state = dict(zip(wanted, tensors[count:], strict=True))
        outputs = tensors_in(torch.func.functional_call(kernel, state, tuple(tensors[:count])))
        return [_laid_out(outputs[place], stride) for place, stride in zip(places, strides, strict=True)]

    _operators.define(f"{name}(Tensor[] tensors) -> Tensor[]")
    _operators.impl(name, run, "CompositeExplicitAutograd")
    torch.library.register_fake(f"tilesmith::{name}", lambda tensors: list(region(*tensors)), lib=_operators)
    return getattr(torch.ops.tilesmith, name).default


def _laid_out(tensor: torch.Tensor, stride: tuple[int, ...]) -> torch.Tensor:
    """As PyTorch would have laid it out, which inner backends rely on."""
    if tensor.stride() == stride:
        return tensor
    return torch.empty_strided(tensor.shape, stride, dtype=tensor.dtype, device=tensor.device).copy_(tensor)
