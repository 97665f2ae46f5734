"""A real call of a real module, described as a `CallSpec`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from tilesmith.errors import TaskError
from tilesmith.live.calls.call_records import CallSpec, TensorSpec
from tilesmith.records import ArgumentSpec
from tilesmith.tasks.calls.argument_description import describe_argument, dtype_name, is_plain


def describe_call(module: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> CallSpec:
    """Raises TaskError in one line where a guard could not tell this call from another."""
    bound = bind_arguments(module, args, kwargs).arguments
    arguments = tuple(spec for name, value in bound.items() for spec in describe_argument((name,), value))
    tensors = tuple(_tensors(module))
    devices = {tensor.device.type for tensor in [*tensors_at(bound, arguments), *module.parameters()]}
    if len(devices) > 1:
        raise TaskError(f"its tensors lie on {' and '.join(sorted(devices))}")
    if "meta" in devices:
        raise TaskError("its tensors lie on meta, where they have no values")
    if not any(one.kind == "tensor" for one in arguments):
        raise TaskError("it is called without a tensor")
    return CallSpec(
        module_class=class_name(module),
        arguments=arguments,
        tensors=tensors,
        settings=dict(settings_of(module)),
        inner={name: class_name(one) for name, one in module.named_modules(remove_duplicate=False) if name},
        device=devices.pop(),
        training=module.training,
    )


def bind_arguments(module: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> inspect.BoundArguments:
    """By the parameters of `forward`, defaults included: it does not matter how an argument is handed over."""
    try:
        bound = signature_of(module).bind(*args, **kwargs)
    except TypeError as error:
        raise TaskError(f"the example does not fit {type(module).__name__}.forward: {error}") from None
    bound.apply_defaults()
    return bound


def signature_of(module: nn.Module) -> inspect.Signature:
    """Of the class's own `forward`, whatever stands in its place on the instance."""
    parameters = list(inspect.signature(type(module).forward).parameters.values())[1:]
    return inspect.Signature([one.replace(annotation=inspect.Parameter.empty) for one in parameters])


def tensors_at(bound: Mapping[str, Any], arguments: Sequence[ArgumentSpec]) -> Iterator[torch.Tensor]:
    """The tensors that the specs name, in their order."""
    for one in arguments:
        if one.kind == "tensor":
            value: Any = bound
            for step in one.path:
                value = value[step]
            yield value


def class_name(module: nn.Module) -> str:
    return f"{type(module).__module__}.{type(module).__qualname__}"


def settings_of(module: nn.Module) -> Iterator[tuple[str, Any]]:
    """Plain attributes that a kernel may have built in."""
    for prefix, inner in module.named_modules(remove_duplicate=False):
        for key, value in vars(inner).items():
            if key != "training" and not key.startswith("_") and is_plain(value):
                yield f"{prefix}.{key}".lstrip("."), value


def _tensors(module: nn.Module) -> Iterator[TensorSpec]:
    for name, tensor in module.named_parameters(remove_duplicate=False):
        yield TensorSpec(name, dtype_name(tensor.dtype), tuple(tensor.shape))
    for name, tensor in module.named_buffers(remove_duplicate=False):
        yield TensorSpec(name, dtype_name(tensor.dtype), tuple(tensor.shape), True)
