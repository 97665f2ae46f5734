"""Makes triton.language run on arrays, once and for good.

Triton patches the language at every launch, in those modules only that the kernel's globals
happen to name. Doing it once at install time covers every way to import it (under any alias,
name by name, through closures), because the objects themselves are replaced beforehand.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl

from tilesmith.worker.engines.interpreter import state
from tilesmith.worker.engines.interpreter.faults import KernelCompileFault, NotInterpretable
from tilesmith.worker.engines.interpreter.kernel_code import control_flow
from tilesmith.worker.engines.interpreter.operations import reductions
from tilesmith.worker.engines.interpreter.operations.handles import Handle
from tilesmith.worker.engines.interpreter.operations.shared_types import share_types


def bind_language(semantic: Any) -> None:
    """Give every builtin of the language our semantic layer."""
    for name in ("triton.language.extra.libdevice", "triton.language.extra.cuda.libdevice"):
        importlib.import_module(name)
    context = {_context_name(): semantic}
    modules = [m for name, m in list(sys.modules.items()) if name.split(".")[:2] == ["triton", "language"]]
    bound: dict[int, Any] = {}
    for owner in [*modules, *_value_classes()]:
        for name, member in list(vars(owner).items()):
            if tl.core.is_builtin(member):
                if id(member) not in bound:
                    bound[id(member)] = (_bound(member, context), member)
                setattr(owner, name, bound[id(member)][0])
    _replace_core(modules)
    share_types()
    _share_libdevice()


def _context_name() -> str:
    """`_semantic` since Triton 3.4, `_builder` before."""
    return "_semantic" if "_semantic" in inspect.signature(tl.core.load).parameters else "_builder"


def _bound(member: Callable[..., Any], context: dict[str, Any]) -> Callable[..., Any]:
    plain = inspect.unwrap(member)  # the layers between only check that the context is there

    def call(*args: Any, **kwargs: Any) -> Any:
        kwargs.update(context)
        return plain(*args, **kwargs)

    call.__name__ = getattr(member, "__name__", "builtin")
    call.__doc__ = member.__doc__
    return call


def _value_classes() -> list[type]:
    base = tl.core.tensor_descriptor_base if hasattr(tl.core, "tensor_descriptor_base") else tl.tensor
    found = [c for c in vars(tl.core).values() if inspect.isclass(c) and issubclass(c, tl.tensor | base)]
    return list(dict.fromkeys(found))


def _replace_core(modules: list[Any]) -> None:
    replacements = {
        "range": control_flow.kernel_range,
        "static_range": control_flow.static_range,
        "reduce": reductions.reduce,
        "associative_scan": reductions.scan,
        "static_assert": _static_assert,
        "static_print": _ignore,
        "device_print": _ignore,
        "multiple_of": _hint,
        "max_contiguous": _hint,
        "max_constancy": _hint,
        "map_elementwise": _map_elementwise,
    }
    originals = {id(vars(tl.core)[name]): new for name, new in replacements.items() if hasattr(tl.core, name)}
    for module in modules:
        for name, member in list(vars(module).items()):
            if id(member) in originals and name in replacements:
                setattr(module, name, originals[id(member)])
    for kind in (tl.dtype, tl.block_type, tl.pointer_type):
        kind.to_ir = _itself
    if hasattr(tl, "condition"):
        tl.condition.__bool__ = lambda self: bool(self.condition)
    _replace_tensor_protocol()


def _replace_tensor_protocol() -> None:
    tensor: Any = tl.tensor
    tensor.__index__ = lambda self: int(self.handle.data.reshape(-1)[0])
    tensor.__bool__ = lambda self: bool(self.handle.data.reshape(-1)[0]) if self.handle.data.size == 1 else True
    tensor.__repr__ = tensor.__str__ = lambda self: f"{self.type}({self.handle.data})"
    tensor.T = property(_transposed)
    tensor.__getitem__ = _checked_index(tensor.__getitem__)


def _checked_index(get_item: Callable[..., Any]) -> Callable[..., Any]:
    """Only `None` and `:` index a block; say so instead of what Python makes of it."""

    def index(self: Any, key: Any) -> Any:
        keys = key if isinstance(key, tuple) else (key,)
        if any(isinstance(item, int | tl.tensor) for item in keys):
            raise KernelCompileFault(
                "a block cannot be indexed by a number or a tensor; load the elements from memory, "
                "or use tl.gather, tl.split or a masked tl.sum",
                state.place(),
            )
        return get_item(self, key)

    return index


def _share_libdevice() -> None:
    """The portable module holds empty stubs that the compiler maps to the backend's functions."""
    portable = sys.modules["triton.language.extra.libdevice"]
    cuda = sys.modules["triton.language.extra.cuda.libdevice"]
    for name in vars(portable):
        if not name.startswith("_") and hasattr(cuda, name):
            setattr(portable, name, getattr(cuda, name))


def _transposed(self: Any) -> Any:
    shape = [int(size) for size in self.type.shape]
    shape[-1], shape[-2] = shape[-2], shape[-1]
    handle = Handle(np.swapaxes(self.handle.data, -1, -2), self.handle.dtype, origin=self.handle.origin)
    return tl.tensor(handle, tl.block_type(self.dtype, shape))


def _static_assert(condition: Any, msg: Any = "", **_context: Any) -> None:
    if not bool(condition):
        raise KernelCompileFault(f"tl.static_assert failed: {getattr(msg, 'value', msg)}", state.place())


def _map_elementwise(*_args: Any, **_options: Any) -> Any:
    raise NotInterpretable("tl.map_elementwise is not interpreted", state.place())


def _hint(value: Any, *_values: Any, **_options: Any) -> Any:
    """Promises to the compiler about divisibility and contiguity."""
    return value


def _ignore(*_args: Any, **_options: Any) -> None:
    """Printing from thousands of programs helps nobody here."""


def _itself(self: Any, builder: Any) -> Any:
    """The interpreter's IR types are Triton's own types."""
    return self
