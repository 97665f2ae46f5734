"""How much of the machine a child may use."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tilesmith.config import CheckConfig
from tilesmith.process.sandbox import Limits

_ROOMY_BYTES = 4 * 2**30
_ADDRESS_SLACK_BYTES = 12 * 2**30
"""Address space that torch and triton map without using it."""


def candidate_limits(config: CheckConfig, device: str) -> Limits:
    most = int(_machine_bytes() * 0.7)
    # Tensors that travel through shared memory count as held, and on a GPU they may be large.
    memory = min(config.memory_bytes, most) if device == "cpu" else most
    return Limits(
        address_bytes=memory + _ADDRESS_SLACK_BYTES if device == "cpu" else None,
        resident_bytes=memory,
        cpu_s=int(config.timeout_s * (8 if device == "cuda" else 20)) + 60,
        file_bytes=2 * 2**30 if device == "cpu" else 32 * 2**30,
        processes=64,
        # The outputs of a check stay until its end.
        disk_bytes=4 * 2**30 if device == "cpu" else 128 * 2**30,
    )


def reference_limits() -> Limits:
    """The task is the user's own code: only the machine itself is protected from it."""
    return Limits(None, int(_machine_bytes() * 0.9), 24 * 3600, 64 * 2**30, 1024)


def _machine_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def roomy_folder() -> str | None:
    """Where tensors travel: memory if it is there and large, else the usual place for temporary files."""
    shared = Path("/dev/shm")
    if shared.is_dir() and os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > _ROOMY_BYTES:
        return str(shared)
    return None
