"""The one interpreter of this process, and the launch that runs now.

Triton's language keeps a global builder; so does this. Everything that a kernel's line can
reach (control flow, builder, faults) finds the current launch here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilesmith.worker.engines.interpreter.kernel_code import source_lines
from tilesmith.worker.engines.interpreter.kernel_faults import KernelLocation

if TYPE_CHECKING:
    from tilesmith.worker.engines.interpreter.launch import ActiveLaunch
    from tilesmith.worker.engines.interpreter.program_tape import Tape

_semantic: Any = None
_launch: ActiveLaunch | None = None
_tape: Tape | None = None


def set_semantic(semantic: Any) -> None:
    """Called once, when the interpreter is installed."""
    global _semantic
    _semantic = semantic


def semantic() -> Any:
    """Triton's semantic layer over our builder."""
    return _semantic


def set_launch(launch: ActiveLaunch | None) -> None:
    """The launch whose programs run from now on."""
    global _launch
    _launch = launch


def launch() -> ActiveLaunch:
    """The running launch; outside of one, device code was called from the host."""
    if _launch is None:
        raise RuntimeError("device code was called outside of a kernel launch; launch it with kernel[grid](...)")
    return _launch


def record_on(tape: Tape | None) -> None:
    """The program that runs from now on is recorded, or no longer is."""
    global _tape
    _tape = tape


def tape() -> Tape | None:
    """What records the program that runs."""
    return _tape


def seen(read: Callable[..., Any], *handles: Any) -> Any:
    """A number that Python reads off values: a recorded program goes on only where it is the same again."""
    number = read(*handles)
    if _tape is not None:
        _tape.saw(handles, number, read)
    return number


def current_location() -> KernelLocation | None:
    """Kernel, program and line that run now."""
    if _launch is None:
        return None
    program = _launch.programs.current
    return KernelLocation(_launch.kernel, program.index, program.repeated_line or source_lines.current_line())
