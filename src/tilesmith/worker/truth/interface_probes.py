"""Calls of `forward` beside the task's own, which a kernel may not take: they tell what it is limited to.

A probe changes one thing of the task's own call: an optional argument, the mode, the dtype, the batch, a broadcast.
Only what Model itself takes is a probe, and only where its answer shows the change.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from tilesmith.errors import TaskError
from tilesmith.process.protocol.interface import ProbeDescription, ProbeKind
from tilesmith.records import ArgumentSpec, Interface
from tilesmith.tasks.calls.argument_description import describe_argument, is_plain, size_letter
from tilesmith.worker.task.forward_arguments import ForwardArguments
from tilesmith.worker.task.loading import LoadedTask
from tilesmith.worker.tensors.exchange import flatten, map_tensors, tensors_in
from tilesmith.worker.truth.error_statistics import same_to_rounding
from tilesmith.worker.truth.variant import ChangedCall, Variant, input_shapes

_MOST_BOUNDS = 2


@dataclass(frozen=True)
class Probe:
    """One changed call, and what is said of a kernel that does not take it."""

    description: ProbeDescription
    call: ChangedCall


def probes_of(variant: Variant) -> list[Probe]:
    """Those that Model takes, with answers that tell the change from the task's own call."""
    own = ChangedCall(variant.inputs("own"), variant.training)
    gradients = ProbeDescription("probe gradients", "gradients", "forward only", variant.training, False)
    mode = "training mode only" if variant.training else "eval mode only"
    candidates = [
        _probe("mode", mode, replace(own, training=not variant.training)),
        *_narrower_types(own),
        *_batches(variant.loaded, own),
        *_broadcasts(variant, own),
    ]
    found = [told for probe in candidates if (told := _telling(variant, probe)) is not None]
    return [Probe(gradients, own), *found, *_optional_arguments(variant, own)]


def _probe(kind: ProbeKind, limit: str, call: ChangedCall, name: str = "") -> Probe:
    return Probe(ProbeDescription(f"probe {name or kind}", kind, limit, call.training, False), call)


def _telling(variant: Variant, probe: Probe) -> Probe | None:
    """The probe, if Model takes it and, where a kernel could overlook the change, answers otherwise."""
    arguments, kind = probe.call.arguments, probe.description.kind
    try:
        with variant.in_mode(probe.call.training):
            first, second = (flatten(variant.run_eager(arguments, variant.seed + i)) for i in range(2))
        is_random = not same_to_rounding(first, second)
        usual = flatten(variant.run_eager(variant.inputs("own")))
    except torch.OutOfMemoryError:
        raise
    except Exception:
        return None
    if (is_random and kind != "mode") or (kind in ("mode", "argument") and same_to_rounding(first, usual)):
        return None
    return replace(probe, description=replace(probe.description, is_random=is_random))


def _optional_arguments(variant: Variant, own: ChangedCall) -> Iterator[Probe]:
    """For each that the task leaves out, the first other value that Model takes and answers otherwise to."""
    signature = inspect.signature(variant.model.forward)
    given = signature.bind(*own.arguments.args, **own.arguments.kwargs).arguments
    for name, parameter in signature.parameters.items():
        if name in given or parameter.default is parameter.empty:
            continue
        for value in _other_values(parameter.default, own.arguments):
            arguments = ForwardArguments(own.arguments.args, {**own.arguments.kwargs, name: value})
            limit = f"{name} must be {parameter.default!r}"
            probe = _probe("argument", limit, replace(own, arguments=arguments), name)
            if (told := _telling(variant, probe)) is not None:
                yield told
                break


def _other_values(default: Any, usual: ForwardArguments) -> Iterator[Any]:
    """What could stand in place of a default: flags flipped, numbers moved, masks and tensors like the inputs."""
    if isinstance(default, bool):
        yield not default
    elif isinstance(default, int):
        yield default + 1
    elif isinstance(default, float):
        yield default * 2 or 0.5
    elif default is None:
        generator = torch.Generator().manual_seed(1)
        shapes = {t.shape: t for t in tensors_in(usual) if t.is_floating_point()}
        for shape, like in shapes.items():
            for size in dict.fromkeys((shape, shape[:-1], shape[-1:], (*shape[-1:], *shape[-1:]))):
                chance = torch.rand(size, generator=generator)
                yield (chance < 0.7).to(like.device)
                yield chance.to(like)


def _narrower_types(own: ChangedCall) -> Iterator[Probe]:
    if any(t.dtype == torch.float32 for t in tensors_in(own.arguments)):
        narrow = map_tensors(own.arguments, lambda t: t.bfloat16() if t.dtype == torch.float32 else t)
        yield _probe("dtype", "float32 inputs only", replace(own, arguments=narrow))


def _batches(loaded: LoadedTask, own: ChangedCall) -> Iterator[Probe]:
    """On the other side of every number that the task compares a first size with."""
    first = next((t for t in tensors_in(own.arguments) if t.dim()), None)
    batch = first.shape[0] if first is not None else 0
    for bound in sorted(set(_bounds(loaded.source.text)))[:_MOST_BOUNDS] if batch else ():
        size, limit = (bound, f"batch above {bound}") if batch > bound else (bound + 1, f"batch up to {bound}")
        if size > 0:
            arguments = map_tensors(own.arguments, lambda t, size=size: _resized(t, batch, size))
            yield _probe("batch", limit, replace(own, arguments=arguments), f"batch {size}")


def _resized(tensor: torch.Tensor, batch: int, size: int) -> torch.Tensor:
    if not tensor.dim() or tensor.shape[0] != batch:
        return tensor
    return tensor[torch.arange(size, device=tensor.device) % batch]


def _bounds(text: str) -> Iterator[int]:
    """Whole numbers that `x.shape[0]`, `x.size(0)` or `len(x)` is compared with."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare) and len(node.comparators) == 1:
            sides = (node.left, node.comparators[0])
            numbers = [one.value for one in sides if isinstance(one, ast.Constant) and type(one.value) is int]
            if numbers and any(map(_is_first_size, sides)):
                strict = isinstance(node.ops[0], ast.Lt | ast.GtE)
                yield numbers[0] - 1 if strict else numbers[0]


def _is_first_size(node: ast.expr) -> bool:
    match node:
        case ast.Subscript(value=ast.Attribute(attr="shape"), slice=ast.Constant(value=0)):
            return True
        case ast.Call(func=ast.Attribute(attr="size"), args=[ast.Constant(value=0)]):
            return True
        case ast.Call(func=ast.Name(id="len")):
            return True
    return False


def _broadcasts(variant: Variant, own: ChangedCall) -> Iterator[Probe]:
    """A second operand with one row: whoever reads as many as the first has reads past its end."""
    args = own.arguments.args
    tensors = [i for i, value in enumerate(args) if isinstance(value, torch.Tensor) and value.dim()]
    for i in tensors[1:]:
        if args[i].shape == args[tensors[0]].shape and args[i].shape[0] > 1:
            name = dict(enumerate(inspect.signature(variant.model.forward).parameters)).get(i, f"input_{i}")
            single = [*args[:i], args[i][:1].clone(), *args[i + 1 :]]
            arguments = ForwardArguments(single, own.arguments.kwargs)
            limit = f"{name} must not be broadcast"
            yield _probe("broadcast", limit, replace(own, arguments=arguments), f"broadcast {name}")


def interface_of(small: Variant, exact: LoadedTask, other: LoadedTask | None) -> Interface | None:
    """The task's own call. Sizes that differ between its own shape and `other` are free; None where forward takes
    any number of arguments, or shapes cannot be had without the data."""
    signature = inspect.signature(small.model.forward)
    here, there = input_shapes(exact), input_shapes(other or exact)
    if here is None or there is None:
        return None
    given, others = (signature.bind(*one.args, **one.kwargs).arguments for one in (here, there))
    arguments: list[ArgumentSpec] = []
    letters: dict[Any, str] = {}
    for name, parameter in signature.parameters.items():
        if name not in given:
            arguments += describe_argument((name,), parameter.default) if is_plain(parameter.default) else ()
        elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            return None
        else:
            arguments += _described(name, given[name], others[name], letters)
    left_out = tuple(one.path[0] for one in arguments if one.path[0] not in given)
    named = tuple(name for name, one in signature.parameters.items() if one.kind is one.KEYWORD_ONLY)
    return Interface(tuple(arguments), left_out, named, small.training)


def _described(name: str, here: Any, there: Any, letters: dict[Any, str]) -> list[ArgumentSpec]:
    """`letters` names the sizes that are free. Strides are not tested, because draws may have others."""
    found = []
    try:
        pairs = zip(describe_argument((name,), here), describe_argument((name,), there), strict=True)
        for one, two in pairs:
            sizes = zip(one.shape, two.shape, strict=True)
            shape = tuple(a if a == b else size_letter(letters, (a, b)) for a, b in sizes)
            found.append(replace(one, shape=shape, stride=one.stride and ()))
    except (TaskError, ValueError):
        return [ArgumentSpec((name,), "other")]
    return found
