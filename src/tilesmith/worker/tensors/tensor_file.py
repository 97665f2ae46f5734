"""Tensors as one file: a JSON header and raw bytes, written straight from the device into mapped memory.

Nothing in it can be executed, and a tensor of gigabytes is copied once on each side.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
from typing import Any

import torch

from tilesmith.process.plain_json import from_text, to_text

_LENGTH = struct.Struct("<Q")
_MOST_HEADER_BYTES = 1 << 24
_ALIGNMENT = 256


class NoRoom(Exception):
    """The file system that tensors travel through is full: the machine's fault, not a candidate's."""


class BadTensorFile(Exception):
    """The file is not one of ours."""


def write_tensors(path: str, tensors: list[torch.Tensor], note: Any = None) -> None:
    dense = [_dense(tensor) for tensor in tensors]
    entries: list[dict[str, Any]] = []
    end = 0
    for tensor in dense:
        entries.append({"dtype": _name(tensor.dtype), "shape": list(tensor.shape), "offset": end})
        end = _aligned(end + tensor.numel() * tensor.element_size())
    header = to_text({"tensors": entries, "note": note}).encode()
    start = _aligned(_LENGTH.size + len(header))
    with open(path, "wb") as file:
        file.write(_LENGTH.pack(len(header)) + header)
        _reserve(file.fileno(), start + end, path)
    if end:
        mapped = torch.from_file(path, shared=True, size=start + end, dtype=torch.uint8)
        for tensor, entry in zip(dense, entries, strict=True):
            _place(mapped, start + entry["offset"], tensor.dtype, tensor.shape).copy_(tensor)


def read_tensors(path: str, device: str) -> tuple[list[torch.Tensor], Any]:
    """Copies, so that whoever wrote the file cannot change them any more."""
    try:
        header, start, size = _read_header(path)
        mapped = torch.from_file(path, shared=False, size=size, dtype=torch.uint8)
        places = [_checked_place(mapped, start, entry) for entry in header["tensors"]]
        note = header["note"]
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.EISDIR, errno.ELOOP):
            raise  # the machine's fault
        raise BadTensorFile(f"{os.path.basename(path)}: {error.strerror}") from None
    except Exception as error:
        raise BadTensorFile(f"{os.path.basename(path)}: {type(error).__name__}: {error}") from None
    return [place.to(device, copy=True) for place in places], note


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
