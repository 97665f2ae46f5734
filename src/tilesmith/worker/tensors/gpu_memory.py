"""GPU memory that two processes share: gigabytes change hands without leaving the GPU.

The driver gives out file descriptors for memory that is made for it. The giver copies its tensors in and keeps
nothing mapped; the taker maps the memory, copies them out and lets go: neither sees what the other does later.
Where the driver cannot, or the environment says TILESMITH_SHARE_GPU_MEMORY=0, tensors travel in files.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from functools import cache
from typing import Any

import torch

from tilesmith.process.descriptor import Descriptor

_PINNED, _ON_DEVICE, _FILE_DESCRIPTOR, _READ_AND_WRITE = 1, 1, 1, 3
_OUT_OF_MEMORY = 2
_SPARE_SHARE = 32
"""One part in so many of what was free at first may lie in torch's reserve, or hold what could be made again."""


class CannotShare(Exception):
    """The driver refused to give or take memory."""


class _Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _Properties(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", _Location),
        ("windows_metadata", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


class _Access(ctypes.Structure):
    _fields_ = (("location", _Location), ("flags", ctypes.c_int))


class _RawBytes:
    """Mapped memory in the form that torch takes over without a copy."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


def give(size: int) -> GivenMemory | None:
    """Memory of at least `size` bytes for another process; None where this machine cannot share it."""
    driver = _driver()
    if driver is None:
        return None
    rounded = -(-size // driver.granularity) * driver.granularity
    try:
        return GivenMemory(driver, driver.create(rounded), rounded)
    except CannotShare:
        return None


class GivenMemory:
    """Memory made for another process."""

    def __init__(self, driver: _Driver, handle: int, size: int) -> None:
        self._driver, self._handle, self._size = driver, handle, size

    @contextlib.contextmanager
    def mapped(self) -> Iterator[torch.Tensor]:
        """Its bytes, to be filled."""
        with self._driver.mapped(self._handle, self._size) as content:
            yield content

    def descriptor(self) -> Descriptor:
        """The way to it. From here on it lives for as long as that does."""
        exported = self._driver.export(self._handle)
        self._driver.release(self._handle)
        return exported


@contextlib.contextmanager
def taken(descriptor: Descriptor, size: int) -> Iterator[torch.Tensor]:
    """The bytes of memory that another process gave, mapped for a while; raises CannotShare."""
    driver = _driver()
    if driver is None:
        raise CannotShare("the CUDA driver is not here")
    handle = driver.import_handle(descriptor)
    try:
        with driver.mapped(handle, -(-size // driver.granularity) * driver.granularity) as content:
            yield content
    finally:
        driver.release(handle)


class _Driver:
    """The calls to libcuda that torch does not offer."""

    def __init__(self, library: Any, device: int) -> None:
        self._library = library
        location = _Location(_ON_DEVICE, device)
        self._properties = _Properties(_PINNED, _FILE_DESCRIPTOR, location)
        self._access = _Access(location, _READ_AND_WRITE)
        found = ctypes.c_size_t()
        self._call("cuMemGetAllocationGranularity", ctypes.byref(found), ctypes.byref(self._properties), 0)
        self.granularity = found.value

    def create(self, size: int) -> int:
        handle = ctypes.c_uint64()
        arguments = (
            ctypes.byref(handle),
            ctypes.c_size_t(size),
            ctypes.byref(self._properties),
            ctypes.c_uint64(0),
        )
        if self._status("cuMemCreate", *arguments) == _OUT_OF_MEMORY:
            torch.cuda.empty_cache()
            if self._status("cuMemCreate", *arguments) == _OUT_OF_MEMORY:
                raise torch.OutOfMemoryError(f"CUDA out of memory: no {size / 2**30:.1f} GiB to hand tensors over")
        if not handle.value:
            raise CannotShare("cuMemCreate failed")
        return handle.value

    def export(self, handle: int) -> Descriptor:
        number = ctypes.c_int(-1)
        self._call(
            "cuMemExportToShareableHandle",
            ctypes.byref(number),
            ctypes.c_uint64(handle),
            _FILE_DESCRIPTOR,
            ctypes.c_uint64(0),
        )
        return Descriptor(number.value)

    def import_handle(self, descriptor: Descriptor) -> int:
        handle = ctypes.c_uint64()
        number = ctypes.c_void_p(descriptor.number)
        self._call("cuMemImportFromShareableHandle", ctypes.byref(handle), number, _FILE_DESCRIPTOR)
        return handle.value

    @contextlib.contextmanager
    def mapped(self, handle: int, size: int) -> Iterator[torch.Tensor]:
        address, length = ctypes.c_uint64(), ctypes.c_size_t(size)
        nothing = ctypes.c_uint64(0)
        self._call("cuMemAddressReserve", ctypes.byref(address), length, ctypes.c_size_t(0), nothing, nothing)
        try:
            self._call("cuMemMap", address, length, ctypes.c_size_t(0), ctypes.c_uint64(handle), nothing)
            try:
                self._call("cuMemSetAccess", address, length, ctypes.byref(self._access), ctypes.c_size_t(1))
                yield torch.as_tensor(_RawBytes(address.value, size), device="cuda")
            finally:
                torch.cuda.synchronize()
                self._call("cuMemUnmap", address, length)
        finally:
            self._call("cuMemAddressFree", address, length)

    def release(self, handle: int) -> None:
        self._call("cuMemRelease", ctypes.c_uint64(handle))

    def _call(self, name: str, *arguments: Any) -> None:
        status = self._status(name, *arguments)
        if status:
            raise CannotShare(f"{name} failed with CUDA error {status}")

    def _status(self, name: str, *arguments: Any) -> int:
        return int(getattr(self._library, name)(*arguments))


@cache
def _driver() -> _Driver | None:
    if os.environ.get("TILESMITH_SHARE_GPU_MEMORY") == "0" or not torch.cuda.is_available() or torch.version.hip:
        return None
    try:
        torch.cuda.init()
        return _Driver(ctypes.CDLL("libcuda.so.1"), torch.cuda.current_device())
    except (OSError, AttributeError, CannotShare):
        return None


def give_back_unused() -> None:
    """Where torch holds much memory in reserve, others may need it: several processes share one GPU."""
    if not torch.cuda.is_initialized():
        return
    if torch.cuda.memory_reserved() - torch.cuda.memory_allocated() > spare_bytes():
        torch.cuda.empty_cache()


@cache
def spare_bytes() -> int:
    """How much of the GPU's memory a process may hold without need."""
    return torch.cuda.mem_get_info()[0] // _SPARE_SHARE
