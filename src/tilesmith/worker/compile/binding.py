"""From the arguments of a launch to the specialization triton would compile.

Triton's own binder decides (types, divisibility by 16, integers equal to 1), but it asks
every tensor for its address, which fake and meta tensors do not have and CPU tensors have
in the wrong memory. So tensors go in as stand-ins that know their dtype and alignment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tilesmith.worker.compat.triton_names import find_paths_if, get_iterable_path

ALIGNMENT_BYTES = 16


class TensorStandIn:
    """Quacks like triton's MockTensor, and remembers the tensor for grids that look at it."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.dtype = tensor.dtype

    def data_ptr(self) -> int:
        """Allocations are aligned on a GPU, so only the offset into the storage can spoil it."""
        base = getattr(self.tensor, "base", self.tensor)
        offset = getattr(base, "storage_offset", int)()
        itemsize = getattr(base.dtype, "itemsize", 1)
        return int(offset) * int(itemsize) % ALIGNMENT_BYTES

    def ptr_range(self) -> int:
        """AMD's backend uses 32-bit offsets below 2 GiB."""
        base = getattr(self.tensor, "base", self.tensor)
        return int(base.untyped_storage().nbytes()) if hasattr(base, "untyped_storage") else 0


class SpecializedArguments(NamedTuple):
    bound: dict[str, Any]
    """Parameter name → the argument as the caller passed it."""
    signature: dict[str, Any]
    constexprs: dict[tuple[int, ...], Any]
    attrs: dict[tuple[int, ...], Any]


class ArgumentBinder:
    """Binds the arguments of one kernel for the active driver's target."""

    def __init__(self, fn: Any) -> None:
        self._fn = fn
        # Triton 3.3 and 3.4 return four things, later ones five; these two are always last.
        *_, self._backend, self._bind = fn.create_binder()

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> SpecializedArguments:
        """Mirrors JITFunction._pack_args, which triton before 3.6 has only inside `run`."""
        self._refuse_unknown_keywords(kwargs)
        wrapped = {name: _deep(_stand_in, value) for name, value in kwargs.items()}
        bound, specialization, _ = self._bind(*(_deep(_stand_in, arg) for arg in args), **wrapped)
        bound = {name: _deep(_original, value) for name, value in bound.items()}
        types = [entry[0] for entry in specialization]
        hints = ["" if entry[0] == "constexpr" else entry[1] for entry in specialization]
        values = list(bound.values())
        constant_paths = find_paths_if(types, lambda _, ty: ty == "constexpr")
        hint_paths = find_paths_if(hints, lambda _, hint: isinstance(hint, str))
        return SpecializedArguments(
            bound=bound,
            signature=dict(zip((p.name for p in self._fn.params), types, strict=True)),
            constexprs={path: get_iterable_path(values, path) for path in constant_paths},
            attrs={path: self._backend.parse_attr(get_iterable_path(hints, path)) for path in hint_paths},
        )

    def _refuse_unknown_keywords(self, kwargs: dict[str, Any]) -> None:
        known = {param.name for param in self._fn.params}
        options = self._backend.parse_options({k: v for k, v in kwargs.items() if k not in known})
        for name in kwargs:
            if name not in known and name not in vars(options):
                raise KeyError(f"Keyword argument {name} was specified but unrecognised")


def _deep(change: Callable[[Any], Any], value: Any) -> Any:
    """Apply to a value, or to every member of a (named) tuple."""
    if isinstance(value, tuple):
        members = [_deep(change, member) for member in value]
        return type(value)(*members) if hasattr(value, "_fields") else type(value)(members)
    return change(value)


def _stand_in(value: Any) -> Any:
    is_tensor = hasattr(value, "data_ptr") and hasattr(value, "dtype")
    return TensorStandIn(value) if is_tensor else value


def _original(value: Any) -> Any:
    return value.tensor if isinstance(value, TensorStandIn) else value
