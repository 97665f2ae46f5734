"""Private names of torch that live modules need, bound once: the only module of this package that uses them."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch._C._functorch import peek_interpreter_stack as functorch_interpreter
from torch._ops import OpOverload
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode

__all__ = [
    "FakeTensor",
    "FakeTensorMode",
    "OpOverload",
    "TorchDispatchMode",
    "argument_names",
    "buffer_table",
    "child_table",
    "functorch_interpreter",
    "has_hooks",
    "lookup_backend",
    "parameter_table",
    "renew_flat_weights",
    "share_tables",
    "trace_with_fakes",
    "unlogged_failures",
    "version_of",
]

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


def renew_flat_weights(layer: nn.RNNBase) -> None:
    """A recurrent layer keeps its parameters in a list as well, which does not follow a shared table."""
    vars(layer)["_flat_weights"] = [layer._parameters[name] for name in layer._flat_weights_names]


def has_hooks(module: nn.Module) -> bool:
    return bool(
        module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks
    )


def version_of(tensor: torch.Tensor) -> int:
    """Counts the writes to a tensor; inference tensors do not count."""
    return -1 if tensor.is_inference() else tensor._version


def argument_names(operator: Any) -> tuple[str, ...]:
    return tuple(one.name for one in operator._schema.arguments)


def lookup_backend(name: Any) -> Any:
    """A backend of torch.compile by its name; imported late, because it brings all of Dynamo."""
    from torch._dynamo.backends.registry import lookup_backend as lookup

    return lookup(name)
