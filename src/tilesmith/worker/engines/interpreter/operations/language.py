"""Makes triton.language run on arrays, once and for good.

Triton patches the language at every launch, in those modules only that the kernel's globals
happen to name. Doing it once at install time covers every way to import it (under any alias,
name by name, through closures), because the objects themselves are replaced beforehand.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import triton.language as tl

from tilesmith.worker.compat.interpreter_names import (
    context_keyword,
    core_functions,
    language_builtins,
    libdevice_stubs,
)
from tilesmith.worker.compat.patches import Replacement, replace
from tilesmith.worker.engines.interpreter import state
from tilesmith.worker.engines.interpreter.kernel_code import control_flow
from tilesmith.worker.engines.interpreter.kernel_faults import KernelCompileFault, NotInterpretable
from tilesmith.worker.engines.interpreter.operations import reductions
from tilesmith.worker.engines.interpreter.operations.shared_types import share_types


def bind_language(semantic: Any) -> None:
    """Give every builtin of the language our semantic layer."""
    context = {context_keyword(): semantic}
    bound: dict[int, Any] = {}
    for owner, name, member in list(language_builtins()):
        if id(member) not in bound:
            bound[id(member)] = (_bound(member, context), member)
        replace([Replacement(owner, name, bound[id(member)][0])])
    replace(Replacement(module, name, _CORE[name]) for module, name in list(core_functions(_CORE)))
    replace(_type_replacements())
    share_types()
    replace(Replacement(*stub) for stub in list(libdevice_stubs()))


def _bound(member: Callable[..., Any], context: dict[str, Any]) -> Callable[..., Any]:
    plain = inspect.unwrap(member)  # the layers between only check that the context is there

    def call(*args: Any, **kwargs: Any) -> Any:
        kwargs.update(context)
        return plain(*args, **kwargs)

    call.__name__ = getattr(member, "__name__", "builtin")
    call.__doc__ = member.__doc__
    return call


def _type_replacements() -> Iterator[Replacement]:
    for kind in (tl.dtype, tl.block_type, tl.pointer_type):
        yield Replacement(kind, "to_ir", _itself)
    if hasattr(tl, "condition"):
        yield Replacement(tl.condition, "__bool__", lambda self: bool(self.condition))
    tensor = tl.tensor
    yield Replacement(tensor, "__index__", _tensor_number)
    yield Replacement(tensor, "__bool__", _tensor_truth)
    yield Replacement(tensor, "__repr__", _tensor_in_words)
    yield Replacement(tensor, "__str__", _tensor_in_words)
    yield Replacement(tensor, "T", property(_transposed))
    yield Replacement(tensor, "__getitem__", _checked_index(tensor.__getitem__))


def _tensor_truth(self: Any) -> bool:
    return state.seen(lambda handle: bool(_first(handle)), self.handle) if self.handle.data.size == 1 else True


def _tensor_number(self: Any) -> int:
    return int(state.seen(lambda handle: int(_first(handle)), self.handle))


def _first(handle: Any) -> Any:
    return handle.data.reshape(-1)[0]


def _tensor_in_words(self: Any) -> str:
    return f"{self.type}({self.handle.data})"


def _checked_index(get_item: Callable[..., Any]) -> Callable[..., Any]:
    """Only `None` and `:` index a block; say so instead of what Python makes of it."""

    def index(self: Any, key: Any) -> Any:
        keys = key if isinstance(key, tuple) else (key,)
        if any(isinstance(item, int | tl.tensor) for item in keys):
            raise KernelCompileFault(
                "a block cannot be indexed by a number or a tensor; load the elements from memory, "
                "or use tl.gather, tl.split or a masked tl.sum",
                state.current_location(),
            )
        return get_item(self, key)

    return index


def _transposed(self: Any) -> Any:
    shape = [int(size) for size in self.type.shape]
    shape[-1], shape[-2] = shape[-2], shape[-1]
    order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
    handle = state.semantic().builder.create_trans(self.handle, order)
    return tl.tensor(handle, tl.block_type(self.dtype, shape))


def _static_assert(condition: Any, msg: Any = "", **_context: Any) -> None:
    if not bool(condition):
        raise KernelCompileFault(f"tl.static_assert failed: {getattr(msg, 'value', msg)}", state.current_location())


def _map_elementwise(*_args: Any, **_options: Any) -> Any:
    raise NotInterpretable("tl.map_elementwise is not interpreted", state.current_location())


def _hint(value: Any, *_values: Any, **_options: Any) -> Any:
    """Promises to the compiler about divisibility and contiguity."""
    return value


def _ignore(*_args: Any, **_options: Any) -> None:
    """Printing from thousands of programs helps nobody here."""


def _itself(self: Any, builder: Any) -> Any:
    """The interpreter's IR types are Triton's own types."""
    return self


_CORE: dict[str, Callable[..., Any]] = {
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
"""Functions of the language's core that mean something else here."""
