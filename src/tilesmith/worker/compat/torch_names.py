"""Private names of torch, bound once at import: code that a candidate patches later is not reached through them.

`torch.overrides` is documented, but changes like the rest. A pair of owner and name is what `patches.Replacement`
begins with.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import threading
from typing import Any

import torch
import torch._VF as recurrent_functions
from torch._C import (
    DisableTorchFunction,
    _dispatch_get_all_op_names,
    _len_torch_dispatch_stack,
    _len_torch_function_stack,
)
from torch._C._nn import _parse_to
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)
from torch.autograd import _engine_run_backward
from torch.cuda import _sleep
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack
from torch.utils._pytree import tree_flatten, tree_map_only, tree_unflatten

__all__ = [
    "DataDependentOutputException",
    "DisableTorchFunction",
    "DynamicOutputShapeException",
    "FakeTensor",
    "FakeTensorMode",
    "TorchDispatchMode",
    "TorchFunctionMode",
    "UnsupportedFakeTensorException",
    "UnsupportedOperatorException",
    "recurrent_functions",
    "tree_flatten",
    "tree_map_only",
    "tree_unflatten",
]

CudaEvent: Any = getattr(torch._C, "_CudaEventBase", None)
"""Events as the C type they are; None in a torch without CUDA."""
sleep_on_gpu = _sleep
parse_to = _parse_to
run_backward = _engine_run_backward
device_constructors = _device_constructors
active_dispatch_modes = _get_current_dispatch_mode_stack
count_function_modes = _len_torch_function_stack
count_dispatch_modes = _len_torch_dispatch_stack
names_of_operators = _dispatch_get_all_op_names
FAKE_TENSOR_LOG = fake_tensor.__name__

PARSE_TO = (torch._C._nn, "_parse_to")
RUN_BACKWARD = (torch.autograd, "_engine_run_backward")
RAW_STREAM = (torch._C, "_cuda_getCurrentRawStream")
LAZY_INIT = (torch.cuda, "_lazy_init")
COMPILE_KERNEL = (torch.cuda, "_compile_kernel")

PRIVATE_MODULES = (
    "torch.overrides",
    "torch.cuda._utils",
    "torch._tensor",
    "torch._ops",
    "torch.utils._python_dispatch",
    "torch.utils._device",
    "torch._C",
    "torch._C._nn",
    "torch.utils._pytree",
)
"""Those in which a candidate could replace what the judge relies on."""

trace_on_fakes = functools.partial(make_fx, tracing_mode="real", pre_dispatch=True, _allow_non_fake_inputs=True)
"""The tracer for fake tensors that are made outside of it, before any decomposition."""


def default_device_context() -> Any:
    """What `torch.set_default_device` has set, or None."""
    context: threading.local = torch._GLOBAL_DEVICE_CONTEXT
    return getattr(context, "device_context", None)


def schema_of(operator: Any) -> Any:
    """The arguments and results of an operator, and which of them it changes."""
    return operator._schema


def storage_of(tensor: torch.Tensor) -> int:
    """The same number for tensors that share memory, also for fakes, which have no address."""
    return int(tensor.untyped_storage()._cdata)


def import_symbolic_shapes() -> None:
    """What fake tensors import and triton does not need: a part of their first second."""
    with contextlib.suppress(ImportError):
        importlib.import_module("torch.fx.experimental.symbolic_shapes")
