"""The memory a launch may touch: the extents of its tensor arguments.

Covers: any address computed from an argument must stay in that argument (its own extent when
it is dense, its storage when it is a strided view, whose gaps are therefore not seen).
Addresses without a known origin, such as pointers loaded from memory, may point into any
tensor that is alive.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch

from tilesmith.worker.engines.interpreter import state
from tilesmith.worker.engines.interpreter.kernel_faults import OutOfBounds


@dataclass(eq=False)
class MemoryRegion:
    """A stretch of memory that belongs to one tensor."""

    name: str
    start: int
    nbytes: int
    itemsize: int
    pointer: int
    storage: int
    arrays: dict[Any, Any] = field(default_factory=dict)

    def array(self, dtype: Any) -> Any:
        """The memory itself, seen as elements of a type."""
        if dtype not in self.arrays:
            whole = self.nbytes - self.nbytes % dtype.itemsize
            raw = (ctypes.c_uint8 * whole).from_address(self.start) if whole else b""
            self.arrays[dtype] = np.frombuffer(raw, np.uint8).view(dtype)
        return self.arrays[dtype]

    def contains(self, first: int, last: int, size: int) -> bool:
        """Whether every byte between two addresses is in the region."""
        return first >= self.start and last + size <= self.start + self.nbytes


class Lanes(NamedTuple):
    """The active lanes of an access that fall into one region."""

    region: MemoryRegion
    index: Any  # element indices into region.array(dtype)
    chosen: Any  # flat positions of these lanes in the block, None for all of them


def region_of(name: str, tensor: Any) -> MemoryRegion:
    """The extent that a kernel may touch through this argument."""
    storage = tensor.untyped_storage()
    itemsize = tensor.element_size()
    steps = zip(tensor.size(), tensor.stride(), strict=True)
    extent = 1 + sum((size - 1) * stride for size, stride in steps) if tensor.numel() else 0
    if extent == tensor.numel():
        start, nbytes = tensor.data_ptr(), extent * itemsize
    else:
        start, nbytes = storage.data_ptr(), storage.nbytes()
    return MemoryRegion(name, start, nbytes, itemsize, tensor.data_ptr(), storage.data_ptr())


class MemoryMap:
    """All regions of a launch, and the test of an access against them."""

    def __init__(self) -> None:
        self.regions: list[MemoryRegion] = []

    def add(self, name: str, tensor: Any) -> MemoryRegion:
        """Admit a tensor argument."""
        region = region_of(name, tensor)
        self.regions.append(region)
        return region

    def resolve(self, pointers: Any, mask: Any, dtype: Any, what: str) -> Iterator[Lanes]:
        """The active lanes of an access, region by region; raises at the first stray one."""
        addresses, chosen = pointers.data.reshape(-1), None
        if mask is not None and not mask.all():
            chosen = np.flatnonzero(mask)
            addresses = addresses[chosen]
        if not addresses.size:
            return
        origin: MemoryRegion | None = pointers.origin
        region = origin or self._covering(int(addresses.min()), int(addresses.max()), dtype.itemsize)
        if region is None:
            yield from self._scattered(addresses, chosen, dtype, what)
            return
        offsets = (addresses - np.uint64(region.start)).view(np.int64)
        index = offsets // dtype.itemsize if dtype.itemsize > 1 else offsets
        if index.min() < 0 or index.max() >= region.nbytes // dtype.itemsize:
            raise _stray(region, addresses, dtype, what)
        if dtype.itemsize != region.itemsize and (offsets % dtype.itemsize).any():
            raise OutOfBounds(
                f"misaligned {what}: {region.name} as {dtype.itemsize}-byte elements", state.current_location()
            )
        yield Lanes(region, index, chosen)

    def _scattered(self, addresses: Any, chosen: Any, dtype: Any, what: str) -> Iterator[Lanes]:
        """Lanes that point into several tensors, as pointers chosen by tl.where do."""
        positions = np.arange(addresses.size) if chosen is None else chosen
        left = np.ones(addresses.size, bool)
        while left.any():
            first = int(addresses[left][0])
            region = self._covering(first, first, dtype.itemsize)
            if region is None:
                raise OutOfBounds(
                    f"{what} at address {first:#x}, which belongs to no tensor argument", state.current_location()
                )
            end = region.start + region.nbytes - dtype.itemsize
            inside = left & (addresses >= np.uint64(region.start)) & (addresses <= np.uint64(end))
            index = (addresses[inside] - np.uint64(region.start)).view(np.int64) // dtype.itemsize
            yield Lanes(region, index, positions[inside])
            left &= ~inside

    def _covering(self, first: int, last: int, size: int) -> MemoryRegion | None:
        for region in self.regions:
            if region.contains(first, last, size):
                return region
        found = _living_tensor_at(first, last, size)
        if found is not None:
            self.regions.append(found)
        return found


def _stray(region: MemoryRegion, addresses: Any, dtype: Any, what: str) -> OutOfBounds:
    elements = (addresses - np.uint64(region.pointer)).view(np.int64) // dtype.itemsize
    low = (region.start - region.pointer) // dtype.itemsize
    high = low + region.nbytes // dtype.itemsize
    outside = elements[(elements < low) | (elements >= high)]
    span = f"element {outside[0]}"
    if outside.size > 1:
        span = f"elements {outside.min()}..{outside.max()} ({outside.size} of {elements.size} active lanes)"
    return OutOfBounds(
        f"out-of-bounds {what}: {span} of argument {region.name}, which has {high} elements "
        f"(valid: {low}..{high - 1}). Mask the access or fix the index.",
        state.current_location(),
    )


def _living_tensor_at(first: int, last: int, size: int) -> MemoryRegion | None:
    """Addresses that a kernel loads from memory may lead to tensors it was not given."""
    for thing in gc.get_objects():
        if type(thing) is torch.Tensor and thing.device.type == "cpu" and thing.layout == torch.strided:
            region = region_of("a tensor reached through a loaded pointer", thing)
            if region.contains(first, last, size):
                return region
    return None
