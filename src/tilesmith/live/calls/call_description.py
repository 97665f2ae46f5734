"""A real call of a real module, described as a `CallSpec`."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from tilesmith.errors import TaskError
from tilesmith.live.calls.call_records import NESTS, ArgumentSpec, CallSpec, TensorSpec

_PLAIN = (bool, int, float, str, type(None))


def describe_call(module: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> CallSpec:
    """Raises TaskError in one line where a guard could not tell this call from another."""
    bound = bind_arguments(module, args, kwargs)
    arguments = tuple(spec for name, value in bound.items() for spec in _argument((name,), value))
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


def bind_arguments(module: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """By the parameters of `forward`, defaults included: it does not matter how an argument is handed over."""
    try:
        bound = signature_of(module).bind(*args, **kwargs)
    except TypeError as error:
        raise TaskError(f"the example does not fit {type(module).__name__}.forward: {error}") from None
    bound.apply_defaults()
    return dict(bound.arguments)


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


def tensor_spec(path: tuple[Any, ...], tensor: torch.Tensor) -> ArgumentSpec:
    stride = None if tensor.is_contiguous() else tuple(tensor.stride())
    return ArgumentSpec(path, "tensor", dtype_name(tensor.dtype), tuple(tensor.shape), stride)


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def settings_of(module: nn.Module) -> Iterator[tuple[str, Any]]:
    """Plain attributes that a kernel may have built in."""
    for prefix, inner in module.named_modules(remove_duplicate=False):
        for key, value in vars(inner).items():
            if key != "training" and not key.startswith("_") and _is_plain(value):
                yield f"{prefix}.{key}".lstrip("."), value


def _tensors(module: nn.Module) -> Iterator[TensorSpec]:
    for name, tensor in module.named_parameters(remove_duplicate=False):
        yield TensorSpec(name, dtype_name(tensor.dtype), tuple(tensor.shape))
    for name, tensor in module.named_buffers(remove_duplicate=False):
        yield TensorSpec(name, dtype_name(tensor.dtype), tuple(tensor.shape), True)


def _argument(path: tuple[Any, ...], value: Any) -> Iterator[ArgumentSpec]:
    kind = next((name for name, nest in NESTS.items() if type(value) is nest), None)
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided:
            raise TaskError(f"argument {path[0]} has a {value.layout} tensor")
        yield tensor_spec(path, value)
    elif kind is not None:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not all(isinstance(key, str | int) for key in keys):
            raise TaskError(f"argument {path[0]} has a dict with keys that are neither text nor numbers")
        yield ArgumentSpec(path, kind, value=keys if kind == "dict" else len(keys))
        for key in keys:
            yield from _argument((*path, key), value[key])
    elif _is_plain(value):
        yield ArgumentSpec(path, "value", value=value)
    else:
        raise TaskError(f"argument {path[0]} is a {type(value).__name__}, which a guard cannot describe")


def _is_plain(value: Any) -> bool:
    return type(value) in _PLAIN and not (isinstance(value, float) and not math.isfinite(value))
