"""Why a wall of the sandbox is missing on this machine, and what would put it up."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from pathlib import Path

from tilesmith.process.sandbox import missing_walls
from tilesmith.process.sandbox.landlock import version as landlock_version

_SWITCHES = {
    "kernel/unprivileged_userns_clone": ("0", "sysctl kernel.unprivileged_userns_clone=1"),
    "user/max_user_namespaces": ("0", "sysctl user.max_user_namespaces=10000"),
    "kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for python",
    ),
}
"""Settings under /proc/sys that take user namespaces away, and how to give them back."""
_CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv")


def cures_for(walls: Iterable[str]) -> dict[str, str]:
    """Every missing wall with one line on what to do about it."""
    return {wall: _CURES.get(wall, _namespaces)() for wall in missing_walls(walls)}


def _limits() -> str:
    return "the kernel refused a resource limit"


def _files() -> str:
    spoken = landlock_version()
    if spoken == 0:
        return "this kernel has no Landlock, or it is switched off: boot with lsm=landlock,... (Linux 6.2 or later)"
    return f"this kernel's Landlock is too old (version {spoken} of at least 3): use Linux 6.2 or later"


def _syscalls() -> str:
    if platform.machine() not in ("x86_64", "aarch64"):
        return f"the filter is written for x86_64 and aarch64, not for {platform.machine()}"
    return "this kernel takes no seccomp filters (CONFIG_SECCOMP_FILTER)"


def _namespaces() -> str:
    for name, (refusing, cure) in _SWITCHES.items():
        try:
            value = (Path("/proc/sys") / name).read_text().strip()
        except OSError:
            continue
        if value == refusing:
            return f"this system gives users no namespaces: {cure}"
    if any(Path(mark).exists() for mark in _CONTAINER_MARKS):
        return "this container forbids namespaces or a /proc of one's own: start it with more rights, or outside"
    return "this system forbids namespaces or a /proc of one's own"


_CURES = {"files": _files, "syscalls": _syscalls, "limits": _limits}
"""All other walls are namespaces."""
