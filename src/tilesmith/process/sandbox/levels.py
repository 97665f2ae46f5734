"""How strong the walls are that really stand, in one word."""

from __future__ import annotations

from collections.abc import Iterable

WALLS = {
    "limits": "memory, time, files and privileges are limited",
    "files": "reads and writes only the files it needs",
    "syscalls": "dangerous system calls are refused",
    "network": "no network, not even loopback",
    "processes": "sees and signals only its own processes",
    "ipc": "no shared memory segments or message queues of others",
}
"""What each wall means. `user`, a user namespace, is a means and not a wall."""


def sandbox_level(walls: Iterable[str]) -> str:
    """full when every wall stands, limits only when none but the limits does, else partial."""
    missing = missing_walls(walls)
    if not missing:
        return "full"
    return "limits only" if set(WALLS) - set(missing) <= {"limits"} else "partial"


def missing_walls(walls: Iterable[str]) -> tuple[str, ...]:
    standing = set(walls)
    return tuple(name for name in WALLS if name not in standing)
