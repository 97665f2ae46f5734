"""What one child may use: limits that neither it nor anything it starts can lift again."""

from __future__ import annotations

import ctypes
import resource
import struct
from dataclasses import dataclass

from tilesmith.process.sandbox import libc

_OPEN_FILES = 4096
_CAPABILITY_VERSION_3 = 0x20080522
_FILE_CAPABILITIES = 0b1111
"""CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER."""


@dataclass(frozen=True)
class Limits:
    """What one child may use. `address_bytes` is null where CUDA must reserve address space freely."""

    address_bytes: int | None
    resident_bytes: int
    cpu_s: int
    file_bytes: int
    """Of one file; the kernel sees to it."""
    processes: int
    disk_bytes: int | None = None
    """Of all files together, which the supervisor counts; null means as much as one file may have."""

    @property
    def total_file_bytes(self) -> int:
        return self.file_bytes if self.disk_bytes is None else self.disk_bytes


def apply_limits(limits: Limits) -> bool:
    """Limit the current process and all it starts; whether every limit stands."""
    unprivileged = libc.prctl(libc.PR_SET_NO_NEW_PRIVS, 1)
    stripped = _keep_file_capabilities_only()
    wanted = {
        resource.RLIMIT_CPU: limits.cpu_s,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: _OPEN_FILES,
    }
    if limits.address_bytes is not None:
        wanted[resource.RLIMIT_AS] = limits.address_bytes
    return all([unprivileged, stripped, *(_limit(which, value) for which, value in wanted.items())])


def _keep_file_capabilities_only() -> bool:
    """Root, or the owner of a user namespace, could unmount the walls; without CAP_SYS_ADMIN it cannot."""
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    current = ctypes.create_string_buffer(24)
    allowed = struct.unpack("=6I", current.raw)[1] if libc.capget(header, current) else _FILE_CAPABILITIES
    kept = struct.pack("=6I", *([_FILE_CAPABILITIES & allowed] * 2), 0, 0, 0, 0)
    return libc.capset(header, kept)


def _limit(which: int, value: int) -> bool:
    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    try:
        resource.setrlimit(which, (value, value))
    except (OSError, ValueError):
        return False
    return True
