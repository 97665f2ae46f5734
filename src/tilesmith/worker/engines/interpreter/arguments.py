"""What a launch gets: its arguments bound to names, its grid, its values for the kernel body."""

from __future__ import annotations

import functools
import inspect
import operator
from typing import Any

import numpy as np
import triton.language as tl

from tilesmith.worker.compat.interpreter_names import compiler_options
from tilesmith.worker.compat.triton_names import TensorWrapper, mangle_type
from tilesmith.worker.engines.interpreter import state
from tilesmith.worker.engines.interpreter.kernel_faults import KernelCompileFault
from tilesmith.worker.engines.interpreter.memory.extents import MemoryMap
from tilesmith.worker.engines.interpreter.operations.handles import Handle

Grid = tuple[int, int, int]

_ALWAYS_OPTIONS = {"num_warps", "num_stages", "num_ctas", "maxnreg", "waves_per_eu", "stream", "device"}
_FORMER_OPTIONS = {"num_consumer_groups", "num_buffers_warp_spec", "enable_warp_specialization"}
"""Removed or vendor-specific ones that people still pass."""
_LARGEST_GRID = (2**31 - 1, 65535, 65535)


@functools.cache
def launch_options() -> frozenset[str]:
    """Keywords that go to the compiler, not to the kernel."""
    return frozenset(_ALWAYS_OPTIONS | _FORMER_OPTIONS | compiler_options())


class KernelSignature:
    """A kernel's parameters, and which of them are compile-time constants."""

    def __init__(self, function: Any) -> None:
        self.signature = inspect.signature(function)
        self.constants = {p.name for p in self.signature.parameters.values() if _is_constexpr(p.annotation)}

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments by name; launch options are dropped, unknown keywords refused as Triton does."""
        own = {name: value for name, value in kwargs.items() if name in self.signature.parameters}
        unknown = kwargs.keys() - own.keys() - launch_options()
        if unknown:
            raise TypeError(
                f"keyword argument {sorted(unknown)[0]} was specified but the kernel has no such parameter"
            )
        bound = self.signature.bind(*args, **own)
        bound.apply_defaults()
        return dict(bound.arguments)


def _is_constexpr(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return annotation.strip().rpartition(".")[2] == "constexpr"
    return annotation is tl.constexpr


def grid_dimensions(grid: Any, bound: dict[str, Any]) -> Grid:
    """The grid as three integers, whatever way it was given."""
    if callable(grid):
        grid = grid(bound)
    if not isinstance(grid, tuple | list):
        raise TypeError(f"the grid must be a tuple of 1 to 3 integers, not {grid!r}")
    if not 1 <= len(grid) <= 3:
        raise ValueError(f"the grid must have 1 to 3 dimensions, not {len(grid)}")
    sizes = [operator.index(size) for size in grid] + [1] * (3 - len(grid))
    for size, largest, axis in zip(sizes, _LARGEST_GRID, "xyz", strict=True):
        if not 0 <= size <= largest:
            raise ValueError(f"grid dimension {axis} is {size}; a GPU allows 0 to {largest}")
    return sizes[0], sizes[1], sizes[2]


def kernel_values(bound: dict[str, Any], constants: set[str], memory: MemoryMap) -> dict[str, Any]:
    """The arguments as the kernel body sees them; tensors are entered in the memory map."""
    return {
        name: _plain_constant(value) if name in constants else _value(name, value, memory)
        for name, value in bound.items()
    }


def _plain_constant(value: Any) -> Any:
    return value.value if isinstance(value, tl.constexpr) else value


def _value(name: str, value: Any, memory: MemoryMap) -> Any:
    if isinstance(value, bool):
        return _scalar(value, tl.int1, np.bool_)
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        # A float argument is a float32 on the GPU, unlike a literal in the kernel.
        return _scalar(value, tl.float32, np.float32)
    if hasattr(value, "data_ptr"):
        return _pointer(name, value, memory)
    if isinstance(value, tuple):
        items = [_value(f"{name}[{n}]", item, memory) for n, item in enumerate(value)]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if type(value).__name__ == "TensorDescriptor":
        return _descriptor(name, value, memory)
    return _plain_constant(value)


def _scalar(value: Any, kind: Any, dtype: Any) -> Any:
    return tl.tensor(Handle(np.array([value], dtype=dtype), kind), kind)


def _integer(value: int) -> Any:
    if not -(2**63) <= value < 2**64:
        raise ValueError(f"integer argument {value} does not fit into 64 bits")
    name = next(
        name
        for name, low, high in (("int32", -(2**31), 2**31), ("int64", -(2**63), 2**63), ("uint64", 0, 2**64))
        if low <= value < high
    )
    return _scalar(value, getattr(tl, name), np.dtype(name))


def _pointer(name: str, tensor: Any, memory: MemoryMap) -> Any:
    real = tensor.base if isinstance(tensor, TensorWrapper) else tensor
    if real.device.type != "cpu":
        raise TypeError(f"argument {name} is on {real.device}; the interpreter works on CPU tensors")
    region = memory.add(name, real)
    kind = _pointer_type(mangle_type(tensor))
    return tl.tensor(Handle(np.array([real.data_ptr()], dtype=np.uint64), kind, origin=region), kind)


@functools.cache
def _pointer_type(mangled: str) -> Any:
    try:
        return tl.str_to_ty(mangled, None)
    except TypeError:
        return tl.str_to_ty(mangled)


def _descriptor(name: str, descriptor: Any, memory: MemoryMap) -> Any:
    if descriptor.strides[-1] != 1:
        raise KernelCompileFault(f"the last stride of tensor descriptor {name} must be 1")
    made = state.semantic().make_tensor_descriptor(
        base=_pointer(name, descriptor.base, memory),
        shape=[_integer(operator.index(size)) for size in descriptor.shape],
        strides=[*(_integer(operator.index(s)) for s in descriptor.strides[:-1]), tl.constexpr(1)],
        block_shape=[tl.constexpr(size) for size in descriptor.block_shape],
        padding_option=getattr(descriptor, "padding", "zero"),
    )
    if getattr(descriptor, "round_f32_to_tf32", False):
        made.handle.round_f32_to_tf32 = True
    return made
