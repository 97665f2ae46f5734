"""Putting the walls up around the current process, in the order in which each is still allowed."""

from __future__ import annotations

from tilesmith.process.sandbox import landlock, seccomp
from tilesmith.process.sandbox.grants import Grants
from tilesmith.process.sandbox.limits import Limits, apply_limits
from tilesmith.process.sandbox.namespaces import hide_other_processes


def apply_sandbox(limits: Limits, grants: Grants | None, namespaces: tuple[str, ...]) -> tuple[str, ...]:
    """The walls that stand. Without grants the process is trusted with files and system calls.

    Mounting comes first, since the last wall forbids it.
    """
    standing = list(namespaces)
    if "processes" in standing and not hide_other_processes():
        standing.remove("processes")
    if apply_limits(limits):
        standing.append("limits")
    if grants is None:
        return tuple(standing)
    if landlock.apply_landlock(grants):
        standing.append("files")
    connecting = grants.tracing and "network" in namespaces
    if seccomp.install(seccomp.SeccompExceptions(grants.tracing, connecting)):
        standing += ["syscalls"] if "network" in standing else ["syscalls", "network"]
    return tuple(standing)
