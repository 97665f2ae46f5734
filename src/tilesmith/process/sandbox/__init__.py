"""What stands between a candidate and the machine.

Covers: a crash, a hang, a memory or disk hog, a fork bomb, noise on stdout, an early exit and processes left
behind all stay inside the child and end with it. Where the kernel allows it the child has no network (not
even loopback), sees only its own processes and cannot signal or trace anything else; it writes only into its
own two folders and reads only those, the system's programs and libraries, its inputs and what its kernel imports.

Does not cover: it shares the GPU, its driver and the kernel with everybody else, and a hole in any of them is a
hole here. It may read installed software, and learn whether a file exists. Each wall is left out where the kernel
has none of its kind; the child says which stand, and `sandbox_level` says what that amounts to.
"""

from __future__ import annotations

from tilesmith.process.sandbox.enclosure import apply_sandbox
from tilesmith.process.sandbox.grants import NO_GRANTS, Grants, system_paths
from tilesmith.process.sandbox.levels import WALLS, missing_walls, sandbox_level
from tilesmith.process.sandbox.limits import Limits, apply_limits
from tilesmith.process.sandbox.namespaces import adopt_orphans, die_with_parent, isolate

__all__ = [
    "NO_GRANTS",
    "WALLS",
    "Grants",
    "Limits",
    "adopt_orphans",
    "apply_limits",
    "apply_sandbox",
    "die_with_parent",
    "isolate",
    "missing_walls",
    "sandbox_level",
    "system_paths",
]
