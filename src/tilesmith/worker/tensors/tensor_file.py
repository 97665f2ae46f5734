"""Tensors as one file: a JSON header and raw bytes, written straight from the device into mapped memory.

Nothing in it can be executed, and a tensor of gigabytes is copied once on each side. Where the tensors lie on a GPU
and are not small, the file holds the header alone, and the bytes stay on the GPU.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
from dataclasses import dataclass
from typing import Any

import torch

from tilesmith.process.descriptor import Descriptor
from tilesmith.process.plain_json import from_text, to_text
from tilesmith.process.protocol.tensors import TensorFile
from tilesmith.worker.tensors import gpu_memory

_LENGTH = struct.Struct("<Q")
_MOST_HEADER_BYTES = 1 << 24
_ALIGNMENT = 256
_LEAST_SHARED_BYTES = 2**22
"""Below this, a file is as quick, and can be read again: the driver maps memory for one process at a time."""


class NoRoom(Exception):
    """The file system that tensors travel through is full: the machine's fault, not a candidate's."""


class BadTensorFile(Exception):
    """The file is not one of ours."""


@dataclass(frozen=True)
class _Packed:
    """Tensors without gaps in them, and where each goes when they are laid out in a row."""

    tensors: list[torch.Tensor]
    offsets: list[int]
    size: int

    def copy_to(self, row: torch.Tensor, start: int = 0) -> None:
        for tensor, offset in zip(self.tensors, self.offsets, strict=True):
            _place(row, start + offset, tensor.dtype, tensor.shape).copy_(tensor)

    def is_worth_sharing(self) -> bool:
        return self.size >= _LEAST_SHARED_BYTES and all(tensor.is_cuda for tensor in self.tensors)


def write_tensors(
    path: str, tensors: list[torch.Tensor], note: Any = None, may_share: bool = True
) -> Descriptor | None:
    """GPU memory with the bytes, if they are not in the file."""
    packed = _pack(tensors)
    given = gpu_memory.give(packed.size) if may_share and packed.is_worth_sharing() else None
    entries = [
        {"dtype": _name(tensor.dtype), "shape": list(tensor.shape), "offset": offset}
        for tensor, offset in zip(packed.tensors, packed.offsets, strict=True)
    ]
    shared = packed.size if given is not None else None
    header = to_text({"tensors": entries, "note": note, "shared": shared}).encode()
    start = _aligned(_LENGTH.size + len(header))
    with open(path, "wb") as file:
        file.write(_LENGTH.pack(len(header)) + header)
        if given is None:
            _reserve(file.fileno(), start + packed.size, path)
    if given is not None:
        return _filled(given, packed)
    if packed.size:
        mapped = torch.from_file(path, shared=True, size=start + packed.size, dtype=torch.uint8)
        packed.copy_to(mapped, start)
    return None


def share_tensors(tensors: list[torch.Tensor]) -> Descriptor | None:
    """The bytes once more, for a file that was written without them."""
    packed = _pack(tensors)
    given = gpu_memory.give(packed.size)
    return None if given is None else _filled(given, packed)


def read_tensors(source: TensorFile, device: str) -> tuple[list[torch.Tensor], Any]:
    """Copies, so that whoever wrote them cannot change them any more."""
    name = os.path.basename(source.path)
    try:
        header, start, size = _read_header(source.path)
        if header["shared"] is not None:
            return _read_shared(header, source), header["note"]
        mapped = torch.from_file(source.path, shared=False, size=size, dtype=torch.uint8)
        places = [_checked_place(mapped, start, entry) for entry in header["tensors"]]
        note = header["note"]
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.EISDIR, errno.ELOOP):
            raise  # the machine's fault
        raise BadTensorFile(f"{name}: {error.strerror}") from None
    except torch.OutOfMemoryError:
        raise
    except Exception as error:
        raise BadTensorFile(f"{name}: {type(error).__name__}: {error}") from None
    return [place.to(device, copy=True) for place in places], note


def _read_shared(header: dict[str, Any], source: TensorFile) -> list[torch.Tensor]:
    if source.memory is None:
        raise ValueError("the GPU memory with its numbers is missing")
    with gpu_memory.taken(source.memory, int(header["shared"])) as row:
        return [_checked_place(row, 0, entry).clone() for entry in header["tensors"]]


def _filled(given: gpu_memory.GivenMemory, packed: _Packed) -> Descriptor:
    with given.mapped() as row:
        packed.copy_to(row)
    return given.descriptor()


def _pack(tensors: list[torch.Tensor]) -> _Packed:
    dense = [_dense(tensor) for tensor in tensors]
    offsets: list[int] = []
    end = 0
    for tensor in dense:
        offsets.append(end)
        end = _aligned(end + tensor.numel() * tensor.element_size())
    return _Packed(dense, offsets, end)


def _read_header(path: str) -> tuple[dict[str, Any], int, int]:
    size = os.path.getsize(path)
    if not stat.S_ISREG(os.lstat(path).st_mode):
        raise ValueError("not a plain file")
    with open(path, "rb") as file:
        (length,) = _LENGTH.unpack(file.read(_LENGTH.size).ljust(_LENGTH.size, b"\xff"))
        if length > min(_MOST_HEADER_BYTES, size):
            raise ValueError("not a tensor file")
        return from_text(file.read(length).decode()), _aligned(_LENGTH.size + length), size


def _checked_place(mapped: torch.Tensor, start: int, entry: dict[str, Any]) -> torch.Tensor:
    dtype, offset = _dtype(entry["dtype"]), start + int(entry["offset"])
    shape = torch.Size(int(n) for n in entry["shape"])
    if min(shape, default=0) < 0 or offset < start or offset + shape.numel() * dtype.itemsize > mapped.numel():
        raise ValueError("a tensor lies outside the file")
    return _place(mapped, offset, dtype, shape)


def _place(mapped: torch.Tensor, offset: int, dtype: torch.dtype, shape: torch.Size) -> torch.Tensor:
    return mapped[offset : offset + shape.numel() * dtype.itemsize].view(dtype).reshape(shape)


def _reserve(descriptor: int, size: int, path: str) -> None:
    """Writing into a mapping of a full file system would kill the process; asking first does not."""
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        raise NoRoom(f"no room for {size / 2**30:.1f} GiB in {os.path.dirname(path)}: {error.strerror}") from None


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    plain = tensor.detach()
    plain = plain.to_dense() if plain.layout != torch.strided else plain
    return plain.resolve_conj().resolve_neg().contiguous()


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _dtype(name: str) -> torch.dtype:
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise ValueError(f"unknown dtype {name!r}")
    return found
