"""A Triton interpreter that finds what a GPU would punish.

Call `install` after triton was imported with TRITON_INTERPRET=1 and before the candidate is
loaded. It covers: out-of-bounds access per argument, races between programs, deadlocks,
undefined masked lanes, bfloat16 and float8, TF32, atomics between waiting programs, libdevice,
autotune. It does not cover: shared memory and register limits, layouts, alignment hints,
and what only the compiler sees (types carried through loops, names defined in one branch).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilesmith.worker.engines.interpreter.kernel_faults import (
    AssertionFailed,
    DataRace,
    Deadlock,
    KernelCompileFault,
    KernelFault,
    KernelTimeout,
    NotInterpretable,
    OutOfBounds,
    explain,
)

if TYPE_CHECKING:
    from tilesmith.worker.engines.interpreter.interpreter import InterpretedLaunch, InterpreterEngine

__all__ = [
    "AssertionFailed",
    "DataRace",
    "Deadlock",
    "InterpretedLaunch",
    "InterpreterEngine",
    "KernelCompileFault",
    "KernelFault",
    "KernelTimeout",
    "NotInterpretable",
    "OutOfBounds",
    "explain",
    "install",
]


def install(seed: int = 0) -> InterpreterEngine:
    """Harden Triton's interpreter in this process. Imported here, so that a GPU needs none of it."""
    from tilesmith.worker.engines.interpreter.interpreter import install

    return install(seed)
