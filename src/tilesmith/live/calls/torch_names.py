"""Private names of torch that live modules need, bound once: the only module of this package that uses them."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch._C._dynamo.guards import TensorGuards
from torch._C._functorch import is_batchedtensor as is_batched
from torch._C._functorch import peek_interpreter_stack as functorch_interpreter
from torch._ops import OpOverload
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeCopyMode, FakeTensor, FakeTensorMode
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.modules import module as module_hooks
from torch.utils._python_dispatch import TorchDispatchMode

__all__ = [
    "FakeCopyMode",
    "FakeTensor",
    "FakeTensorMode",
    "OpOverload",
    "TorchDispatchMode",
    "argument_names",
    "buffer_table",
    "child_table",
    "count_modes",
    "functorch_interpreter",
    "has_dual_tensors",
    "has_global_hooks",
    "has_hooks",
    "is_batched",
    "lookup_backend",
    "parameter_table",
    "remember_tensors",
    "renew_flat_weights",
    "set_grad_enabled",
    "share_tables",
    "tensor_tables",
    "trace_with_fakes",
    "unlogged_failures",
    "version_of",
    "with_own_tables",
]

count_modes = torch._C._len_torch_dispatch_stack
set_grad_enabled = torch._C._set_grad_enabled
trace_with_fakes = functools.partial(make_fx, tracing_mode="fake", pre_dispatch=True, _allow_non_fake_inputs=True)


@contextmanager
def unlogged_failures() -> Iterator[None]:
    """A fake tensor logs a traceback when an operator refuses it, even if the error is expected."""
    log = logging.getLogger(fake_tensor.__name__)
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)


def parameter_table(module: nn.Module) -> dict[str, Any]:
    """The dictionary itself, in which torch looks a parameter up: it follows every later assignment."""
    return module._parameters


def buffer_table(module: nn.Module) -> dict[str, Any]:
    return module._buffers


def child_table(module: nn.Module) -> dict[str, Any]:
    return module._modules


def share_tables(kernel: nn.Module, module: nn.Module) -> None:
    """From now on `kernel` has the parameters and buffers of `module`, whatever becomes of them."""
    vars(kernel)["_parameters"], vars(kernel)["_buffers"] = module._parameters, module._buffers


def with_own_tables(module: nn.Module) -> nn.Module:
    """Another module with the code, settings and tensors that this one has now, in tables of its own."""
    copies: dict[int, nn.Module] = {}
    for one in module.modules():
        copied = copies[id(one)] = object.__new__(type(one))
        tables = {name: dict(vars(one)[name]) for name in ("_parameters", "_buffers", "_modules")}
        vars(copied).update({key: value for key, value in vars(one).items() if key != "forward"} | tables)
    for copied in copies.values():
        copied._modules = {key: one and copies[id(one)] for key, one in copied._modules.items()}
    return copies[id(module)]


def tensor_tables(module: nn.Module) -> list[dict[str, Any]]:
    return [table for one in module.modules() for table in (one._parameters, one._buffers)]


def renew_flat_weights(layer: nn.RNNBase) -> None:
    """A recurrent layer keeps its parameters in a list as well, which does not follow a shared table."""
    vars(layer)["_flat_weights"] = [layer._parameters[name] for name in layer._flat_weights_names]


def has_hooks(module: nn.Module) -> bool:
    return bool(
        module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks
    )


def has_global_hooks() -> bool:
    """Hooks of all modules there are."""
    return bool(
        module_hooks._global_forward_hooks
        or module_hooks._global_forward_pre_hooks
        or module_hooks._global_backward_hooks
        or module_hooks._global_backward_pre_hooks
    )


def has_dual_tensors() -> bool:
    """Whether forward-mode differentiation is on, which looks like any call."""
    return forward_ad._current_level >= 0


def remember_tensors(tensors: Sequence[torch.Tensor], sizes: Sequence[Sequence[int | None]]) -> Any:
    """A function that asks in one step whether other tensors are as these: type, dtype, device, shape, strides,
    and all that torch dispatches on (autocast, transforms, modes). Sizes that are null do not count, nor do strides
    beside them. To a tensor that is handed over twice it says no."""
    pairs = zip(tensors, sizes, strict=True)
    strides: list[Any] = [[None] * one.dim() if None in known else list(one.stride()) for one, known in pairs]
    return TensorGuards(*tensors, dynamic_dims_sizes=[*map(list, sizes)], dynamic_dims_strides=strides).check


def version_of(tensor: torch.Tensor) -> int:
    """Counts the writes to a tensor; inference tensors do not count."""
    return -1 if tensor.is_inference() else tensor._version


def argument_names(operator: Any) -> tuple[str, ...]:
    return tuple(one.name for one in operator._schema.arguments)


def lookup_backend(name: Any) -> Any:
    """A backend of torch.compile by its name; imported late, because it brings all of Dynamo."""
    from torch._dynamo.backends.registry import lookup_backend as lookup

    return lookup(name)
