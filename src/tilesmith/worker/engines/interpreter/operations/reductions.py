"""tl.reduce and tl.associative_scan on whole blocks.

Triton's interpreter calls a custom combine function once per element. Here it is called on
halves of the block, log2(n) times: the tree a GPU uses, with its rounding at every step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import triton.language as tl

from tilesmith.worker.compat.interpreter_names import TUPLES, combine_functions
from tilesmith.worker.engines.interpreter.operations import number_formats
from tilesmith.worker.engines.interpreter.operations.handles import Handle
from tilesmith.worker.engines.interpreter.program_tape import whole

Tensors = Sequence[Any]


def reduce(input: Any, axis: Any, combine_fn: Any, keep_dims: Any = False, **_context: Any) -> Any:
    """Stands in for tl.reduce; one tensor in, one out, or a tuple of each."""
    tensors = input if _is_tuple(input) else (input,)
    axis, keep_dims = _plain(axis), bool(_plain(keep_dims))
    results = whole(lambda some: _reduce(some, axis, combine_fn, keep_dims), tensors)
    return results if _is_tuple(input) else results[0]


def _reduce(tensors: Tensors, axis: int | None, combine_fn: Any, keep_dims: bool) -> Tensors:
    arrays = [tensor.handle.data for tensor in tensors]
    rank = arrays[0].ndim
    if axis is None:
        arrays, along = [array.reshape(-1) for array in arrays], 0
    else:
        along = _checked_axis(axis, rank)
    reduced = _reduce_arrays(arrays, [tensor.dtype for tensor in tensors], along, combine_fn)
    if keep_dims:
        shape = (1,) * rank if axis is None else None
        reduced = [r.reshape(shape) if shape else np.expand_dims(r, along) for r in reduced]
    return tuple(_tensor(r, tensor.dtype) for r, tensor in zip(reduced, tensors, strict=True))


def scan(input: Any, axis: Any, combine_fn: Any, reverse: Any = False, **_context: Any) -> Any:
    """Stands in for tl.associative_scan: doubling steps, each on the whole block."""
    tensors = input if _is_tuple(input) else (input,)
    results = whole(lambda some: _scan(some, _plain(axis), combine_fn, _plain(reverse)), tensors)
    return results if _is_tuple(input) else results[0]


def _scan(tensors: Tensors, axis: int, combine_fn: Any, reverse: bool) -> Tensors:
    types = [tensor.dtype for tensor in tensors]
    along = _checked_axis(axis, tensors[0].handle.data.ndim)
    arrays = [np.moveaxis(tensor.handle.data, along, 0) for tensor in tensors]
    if reverse:
        arrays = [array[::-1] for array in arrays]
    distance = 1
    while distance < len(arrays[0]):
        earlier = [np.roll(array, distance, axis=0) for array in arrays]
        combined = _combine(earlier, arrays, types, combine_fn)
        arrays = [_joined(a[:distance], c[distance:]) for a, c in zip(arrays, combined, strict=True)]
        distance *= 2
    if reverse:
        arrays = [array[::-1] for array in arrays]
    scanned = [np.ascontiguousarray(np.moveaxis(array, 0, along)) for array in arrays]
    return tuple(_tensor(array, dtype) for array, dtype in zip(scanned, types, strict=True))


def _reduce_arrays(arrays: list[Any], types: list[Any], axis: int, combine_fn: Any) -> list[Any]:
    fast = _FAST.get(getattr(combine_fn, "fn", combine_fn))
    if fast is not None and not (fast is _sum and number_formats.is_narrow_float(arrays[0].dtype)):
        return fast(arrays, axis)
    arrays = [np.moveaxis(array, axis, 0) for array in arrays]
    while len(arrays[0]) > 1:
        pairs = [array[0::2] for array in arrays], [array[1::2] for array in arrays]
        arrays = _combine(*pairs, types, combine_fn)
    return [array[0] for array in arrays]


def _combine(left: list[Any], right: list[Any], types: list[Any], combine_fn: Any) -> list[Any]:
    operands = [_tensor(array, dtype) for side in (left, right) for array, dtype in zip(side, types, strict=True)]
    results = combine_fn(*operands)
    results = results if _is_tuple(results) else (results,)
    shape = left[0].shape
    return [_array(result, dtype, shape) for result, dtype in zip(results, types, strict=True)]


def _array(result: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    data = result.handle.data if isinstance(result, tl.tensor) else np.asarray(_plain(result))
    return np.broadcast_to(data.astype(number_formats.numpy_dtype(dtype), copy=False), shape)


def _sum(arrays: list[Any], axis: int) -> list[Any]:
    return [np.sum(arrays[0], axis=axis, dtype=arrays[0].dtype)]


def _extreme(pick: Any) -> Callable[[list[Any], int], list[Any]]:
    """The largest or smallest; an ordinary NaN loses, an undefined lane does not."""
    return lambda arrays, axis: _spoil([pick.reduce(arrays[0], axis=axis)], arrays[0], axis)


def _spoil(results: list[Any], values: Any, axis: int) -> list[Any]:
    """Results that took undefined lanes into account are undefined themselves."""
    spoiled = number_formats.is_poison(values).any(axis=axis)
    if not spoiled.any():
        return results
    return [np.where(spoiled, number_formats.poison(r.dtype), r) for r in results]


def _located_extreme(pick: Any, worst: float) -> Callable[[list[Any], int], list[Any]]:
    """Value and its leftmost index; a NaN loses, as in the comparison that the GPU makes."""

    def find(arrays: list[Any], axis: int) -> list[Any]:
        values, indices = arrays
        ranked = values
        if not np.issubdtype(values.dtype, np.integer):
            ranked = np.where(np.isnan(values), np.array(worst, values.dtype), values)
        found = np.expand_dims(pick(ranked, axis=axis), axis)
        results = [np.take_along_axis(array, found, axis).squeeze(axis) for array in (values, indices)]
        return _spoil(results, values, axis)

    return find


def _fast_combines() -> dict[Any, Callable[[list[Any], int], list[Any]]]:
    table: dict[str, Any] = {
        "sum_combine": _sum,
        "elementwise_max": _extreme(np.fmax),
        "elementwise_min": _extreme(np.fmin),
        "argmax_combine_tie_break_left": _located_extreme(np.argmax, -np.inf),
        "argmax_combine_tie_break_fast": _located_extreme(np.argmax, -np.inf),
        "argmin_combine_tie_break_left": _located_extreme(np.argmin, np.inf),
        "argmin_combine_tie_break_fast": _located_extreme(np.argmin, np.inf),
    }
    return {function: table[name] for name, function in combine_functions().items()}


_FAST = _fast_combines()


def _joined(head: Any, tail: Any) -> Any:
    return np.concatenate([head, tail])


def _is_tuple(value: Any) -> bool:
    return isinstance(value, TUPLES)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, tl.constexpr) else value


def _checked_axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of range for a block of rank {rank}")
    return axis % rank


def _tensor(array: Any, dtype: Any) -> Any:
    scalar = dtype.scalar
    if array.ndim == 0:
        return tl.tensor(Handle(array.reshape(1), scalar), scalar)
    return tl.tensor(Handle(array, scalar), tl.block_type(scalar, list(array.shape)))
