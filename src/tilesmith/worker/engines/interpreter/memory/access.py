"""Loads, stores and atomics: checked against the launch's memory, logged for races, scheduled.

Everything runs in one thread, so an atomic is an ordinary read and write between two points
at which other programs may run.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import triton.language as tl

from tilesmith.worker.compat.interpreter_names import InterpreterBuilder
from tilesmith.worker.engines.interpreter import state
from tilesmith.worker.engines.interpreter.memory.extents import Lanes
from tilesmith.worker.engines.interpreter.operations import number_formats
from tilesmith.worker.engines.interpreter.operations.handles import Handle

_OPERATIONS: dict[str, Any] = {
    "ADD": np.add,
    "FADD": np.add,
    "MIN": np.minimum,
    "UMIN": np.minimum,
    "MAX": np.maximum,
    "UMAX": np.maximum,
    "AND": np.bitwise_and,
    "OR": np.bitwise_or,
    "XOR": np.bitwise_xor,
    "XCHG": lambda old, new: new,
}


def _bits(values: Any) -> Any:
    """Values as bare bits, so that a NaN equals itself."""
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")


def _mask_array(mask: Any) -> Any:
    if mask is None:
        return None
    # Some versions pass the bare array for block pointers and descriptors.
    return (mask if isinstance(mask, np.ndarray) else mask.data).reshape(-1)


def _pick(values: Any, lanes: Lanes) -> Any:
    flat = values.reshape(-1)
    if lanes.chosen is None:
        return flat
    return flat[0] if flat.size == 1 else flat[lanes.chosen]


class MemoryAccess(InterpreterBuilder):
    """The memory operations of the builder."""

    # `other` of the load in progress: Triton drops it when it is a scalar zero.
    given_other: Any = None

    def create_load(self, ptr: Any, *policy: Any) -> Handle:
        """A load of all lanes."""
        return self._load(ptr, None, None, is_volatile=policy[-1])

    def create_masked_load(self, ptrs: Any, mask: Any, other: Any, *policy: Any, **named: Any) -> Handle:
        """A load of the lanes under a mask; the rest is `other`, or poison."""
        is_volatile = named["is_volatile"] if "is_volatile" in named else policy[-1]
        if other is None and self.given_other is not None:
            other = self.given_other.handle
        return self._load(ptrs, mask, other, is_volatile)

    def create_store(self, ptr: Any, val: Any, *_policy: Any) -> None:
        """A store of all lanes."""
        self._store(ptr, val, None)

    def create_masked_store(self, ptrs: Any, value: Any, mask: Any, *_policy: Any) -> None:
        """A store of the lanes under a mask."""
        self._store(ptrs, value, mask)

    def _load(self, ptrs: Any, mask: Any, other: Any, is_volatile: bool) -> Handle:
        launch = state.launch()
        element = ptrs.get_element_ty()
        dtype = number_formats.numpy_dtype(element)
        active = _mask_array(mask)
        values = None
        for lanes in launch.memory.resolve(ptrs, active, dtype, "load"):
            if launch.races.active and not is_volatile:
                launch.races.read(lanes.region, lanes.index, dtype)
            loaded = lanes.region.array(dtype)[lanes.index]
            if lanes.chosen is None:
                values = loaded
            else:
                values = self._background(ptrs, other, dtype) if values is None else values
                values[lanes.chosen] = loaded
        if values is None:
            values = self._background(ptrs, other, dtype)
        if is_volatile:
            launch.races.stop()
            launch.programs.pause(polling=True)
        return Handle(values.reshape(ptrs.data.shape), element)

    @staticmethod
    def _background(ptrs: Any, other: Any, dtype: Any) -> Any:
        """What masked-off lanes hold."""
        fill = number_formats.poison(dtype) if other is None else other.data.reshape(-1).astype(dtype)
        return np.array(np.broadcast_to(fill, (ptrs.data.size,)))

    def _store(self, ptrs: Any, value: Any, mask: Any) -> None:
        launch = state.launch()
        dtype = number_formats.numpy_dtype(ptrs.get_element_ty())
        values = number_formats.convert(value.data, dtype)
        for lanes in launch.memory.resolve(ptrs, _mask_array(mask), dtype, "store"):
            new = _pick(values, lanes)
            array = lanes.region.array(dtype)
            before = array[lanes.index]
            if launch.programs.current.stored is not None:
                launch.programs.current.stored.append((array, lanes.index, before))
            if not launch.races.active:
                array[lanes.index] = new
                continue
            new = np.broadcast_to(new, lanes.index.shape)
            launch.races.write(lanes.region, lanes.index, dtype, _bits(before) != _bits(new))
            array[lanes.index] = new
            lost = _bits(array[lanes.index]) != _bits(new)
            if lost.any():
                launch.races.disagreement(lanes.region, lanes.index, lost)
        launch.programs.progress()

    def create_atomic_rmw(self, rmwOp: Any, ptr: Any, val: Any, mask: Any, sem: Any, scope: Any) -> Handle:
        """Read, combine, write, for one lane after the other where lanes share an address."""
        name = rmwOp.name
        values = val.data
        if name.startswith("U"):
            values = values.view(f"u{values.dtype.itemsize}")
        return self._atomic(ptr, mask, values, _OPERATIONS[name], val.dtype.scalar)

    def create_atomic_cas(self, ptr: Any, cmp: Any, val: Any, sem: Any, scope: Any) -> Handle:
        """Write where memory holds the expected value."""
        pairs: Any = np.empty(ptr.data.shape, [("new", val.data.dtype), ("expected", val.data.dtype)])
        pairs["new"], pairs["expected"] = val.data, cmp.data

        def swap(old: Any, pair: Any) -> Any:
            return np.where(_bits(old) == _bits(pair["expected"]), pair["new"], old)

        return self._atomic(ptr, None, pairs, swap, cmp.dtype.scalar, val.data.dtype)

    def _atomic(
        self, ptr: Any, mask: Any, values: Any, combine: Any, dtype_of_result: Any, dtype: Any = None
    ) -> Handle:
        launch = state.launch()
        launch.races.stop()
        launch.programs.current.stored = None  # others may see what comes now
        dtype = dtype or values.dtype
        before = np.zeros(ptr.data.size, dtype)
        changed = False
        flat = np.broadcast_to(values.reshape(-1), (ptr.data.size,))
        for lanes in launch.memory.resolve(ptr, _mask_array(mask), dtype, "atomic"):
            old, moved = _update(lanes, lanes.region.array(dtype), flat, combine)
            before[slice(None) if lanes.chosen is None else lanes.chosen] = old
            changed = changed or moved
        if changed:
            launch.programs.progress()
        launch.programs.pause(polling=not changed)
        result = before.view(number_formats.numpy_dtype(dtype_of_result))
        return Handle(result.reshape(ptr.data.shape), dtype_of_result)

    def create_atomic_load(self, ptr: Any, mask: Any, sem: Any, scope: Any) -> Handle:
        """A load at which others may run."""
        return self._load(ptr, mask, None, is_volatile=True)

    def create_atomic_store(self, ptr: Any, val: Any, mask: Any, sem: Any, scope: Any) -> None:
        """A store at which others may run."""
        state.launch().races.stop()
        self._store(ptr, val, mask)
        state.launch().programs.pause(polling=False)

    def create_atomic_poll(self, ptr: Any, expected: Any, timeout_ns: Any, sem: Any, scope: Any) -> Handle:
        """Wait until every lane holds what is expected, or the kernel's own timeout passes."""
        limited = isinstance(timeout_ns, Handle)
        end = time.perf_counter_ns() + int(timeout_ns.data.item()) if limited else 0
        state.launch().programs.current.may_wait = True
        while True:
            matched = self._load(ptr, None, None, is_volatile=True).data == expected.data
            if matched.all() or (limited and time.perf_counter_ns() >= end):
                return Handle(matched, tl.int1)


def _update(lanes: Lanes, array: Any, values: Any, combine: Any) -> tuple[Any, bool]:
    """Old values, and whether memory changed."""
    mine = values if lanes.chosen is None else values[lanes.chosen]
    index = lanes.index
    if index.size == 1 or np.unique(index).size == index.size:
        old = array[index]
        new = combine(old, mine).astype(array.dtype)
        array[index] = new
        return old, bool((_bits(old) != _bits(new)).any())
    old = np.empty(index.size, array.dtype)
    for lane, place in enumerate(index):
        old[lane] = array[place]
        array[place] = combine(old[lane : lane + 1], mine[lane : lane + 1]).astype(array.dtype)[0]
    return old, bool((_bits(old) != _bits(array[index])).any())
