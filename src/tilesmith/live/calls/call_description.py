"""A real call of a real module, described as a `CallSpec`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from tilesmith.errors import TaskError
from tilesmith.live.calls.call_records import CallSpec, TensorSpec
from tilesmith.live.calls.nests import tensors_in
from tilesmith.records import ArgumentSpec
from tilesmith.tasks.calls.argument_description import describe_argument, dtype_name, is_plain

_OF_EVERY_MODULE = {*vars(nn.Module()), "forward"}
_IN_GUARDS = {"bool", "dict", "float", "int", "len", "list", "str", "tuple", "type"}


def describe_call(module: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> CallSpec:
    """Raises TaskError in one line where a guard could not tell this call from another."""
    bound = bind_arguments(module, args, kwargs).arguments
    if hidden := _IN_GUARDS & bound.keys():
        raise TaskError(f"its argument {min(hidden)} hides what Python calls so, which a guard needs: rename it")
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
        settings={name: value for name, value in attributes_of(module) if is_plain(value)},
        objects={name: describe_object(value) for name, value in attributes_of(module) if not is_plain(value)},
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


def attributes_of(module: nn.Module) -> Iterator[tuple[str, Any]]:
    """Whatever a kernel may have built in beside tensors: `norm.eps`, and `norm.config.eps` where code says `eps`,
    that of the module or that of the object.

    Raises TaskError for a tensor that is neither parameter nor buffer, whose changes nobody could see.
    """
    for prefix, inner in module.named_modules(remove_duplicate=False):
        own = {key: value for key, value in vars(inner).items() if key not in _OF_EVERY_MODULE}
        if isinstance(inner, nn.RNNBase):
            own = {key: value for key, value in own.items() if not key.startswith("_flat_weight")}
        for key, value in (_class_attributes(type(inner)) | own).items():
            name = f"{prefix}.{key}".lstrip(".")
            if tensors_in(value):
                raise TaskError(
                    f"it keeps a tensor, {name}, that is no parameter: make it one with register_buffer"
                )
            yield name, value
            yield from _inside(name, value, names_in_code(type(inner)), [])


def _inside(name: str, value: Any, said: frozenset[str], around: list[Any]) -> Iterator[tuple[str, Any]]:
    """What an object holds under names that code says, and what it computes under such names if that is plain."""
    is_object = type(value).__module__ not in ("builtins", "torch") and not isinstance(value, type | nn.Module)
    if not is_object or any(one is value for one in around):
        return
    said, own = _names_reached(type(value), said), getattr(value, "__dict__", {})
    for key in sorted(said):
        try:
            held = own[key] if key in own else getattr(value, key)
        except Exception:  # whatever its code raises for what it does not have
            continue
        if key in own or is_nest(held):
            yield f"{name}.{key}", held
            yield from _inside(f"{name}.{key}", held, said, [*around, value])


def is_nest(value: Any) -> bool:
    """Whether a value is lists, tuples and dictionaries of plain values, which may change in place."""
    if type(value) in (list, tuple, dict):
        return all(map(is_nest, value.values() if type(value) is dict else value))
    return is_plain(value)


def describe_object(value: Any) -> str:
    """The same text in every process: what is in a list, a function's name, else the class."""
    if is_nest(value) or isinstance(value, torch.dtype | torch.device):
        return repr(value)
    if isinstance(value, list | tuple | dict):
        items = [*value, *value.values()] if isinstance(value, dict) else value
        return f"{type(value).__name__} of {', '.join(map(describe_object, items))}"
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"


def _class_attributes(kind: type) -> dict[str, Any]:
    classes = [one for one in reversed(kind.__mro__) if one not in nn.Module.__mro__]
    found = {key: value for one in classes for key, value in vars(one).items()}
    return {key: value for key, value in found.items() if is_plain(value) and key[:2] != "__" and key != "_version"}


def names_in_code(kind: type) -> frozenset[str]:
    """What the methods of a module's class, or those around them, speak of: `eps` for `self.config.eps`."""
    classes = [one for one in kind.__mro__ if one not in nn.Module.__mro__]
    methods = [value for one in classes for key, value in vars(one).items() if key != "__init__"]
    return frozenset().union(*map(_names_said, methods))


def _names_reached(kind: type, said: frozenset[str]) -> frozenset[str]:
    """With the names that an object's own methods and properties say when those names, or it, are called."""
    methods = {key: value for one in reversed(kind.__mro__) for key, value in vars(one).items()}
    reached = said | {"__call__"}
    more = reached.union(*(_names_said(methods[key]) for key in reached & methods.keys()))
    return reached if more == reached else _names_reached(kind, more)


def _names_said(value: Any) -> set[str]:
    """By a function or property; strings too, because of getattr."""
    function: Any = inspect.unwrap(getattr(value, "fget", value))
    code = function if inspect.iscode(function) else getattr(function, "__code__", None)
    if not inspect.iscode(code):
        return set()
    constants = {one for one in code.co_consts if isinstance(one, str) and one.isidentifier()}
    return {*code.co_names, *constants}.union(*map(_names_said, filter(inspect.iscode, code.co_consts)))


def _tensors(module: nn.Module) -> Iterator[TensorSpec]:
    named = (module.named_parameters(remove_duplicate=False), module.named_buffers(remove_duplicate=False))
    for is_buffer, tensors in enumerate(named):
        for name, tensor in tensors:
            if tensor.layout != torch.strided:
                raise TaskError(f"its {name} is a {tensor.layout} tensor")
            stride = None if tensor.is_contiguous() else tuple(tensor.stride())
            yield TensorSpec(name, dtype_name(tensor.dtype), tuple(tensor.shape), bool(is_buffer), stride)
