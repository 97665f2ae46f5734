"""What can go wrong inside a kernel, and how to say it so that an author can repair it.

    KernelFault
    ├── OutOfBounds         an address outside the tensor its pointer came from
    ├── DataRace                two programs of one launch disagree about one element
    ├── Deadlock            every program waits and nothing changes any more
    ├── KernelTimeout       the caller's deadline passed
    ├── KernelCompileFault  the compiler would refuse this kernel too
    ├── AssertionFailed     tl.device_assert or tl.assume was false
    └── NotInterpretable    our limit, never the kernel's fault

Anything else raised in a kernel body keeps its own type; `explain` finds its line.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import ClassVar

from tilesmith.worker.engines.interpreter.kernel_code import source_lines

_LONGEST_MESSAGE = 1000


@dataclass(frozen=True)
class KernelLocation:
    """Where a kernel was when something happened."""

    kernel: str
    program: tuple[int, int, int]
    line: source_lines.SourceLine | None

    def __str__(self) -> str:
        at = f", {self.line}" if self.line else ""
        return f"kernel {self.kernel}, program {self.program}{at}"


class KernelFault(Exception):
    """A fault with a verdict; `line` is the candidate's line when it is known."""

    verdict: ClassVar[str] = "runtime_error"

    def __init__(self, message: str, location: KernelLocation | None = None) -> None:
        super().__init__(f"{message}\n  in {location}" if location else message)
        self.location = location

    @property
    def line(self) -> int | None:
        """The line number in the candidate's file."""
        return self.location.line.number if self.location and self.location.line else None


class OutOfBounds(KernelFault):
    """A load, store or atomic outside its argument."""

    verdict = "unsafe_memory"


class DataRace(KernelFault):
    """The result depends on the order in which programs run."""

    verdict = "nondeterministic"


class Deadlock(KernelFault):
    """All remaining programs wait for one another."""

    verdict = "timeout"


class KernelTimeout(KernelFault):
    """The deadline that the caller set has passed."""

    verdict = "timeout"


class KernelCompileFault(KernelFault):
    """What the GPU compiler is certain to refuse as well."""

    verdict = "compile_error"


class AssertionFailed(KernelFault):
    """The kernel's own tl.device_assert or tl.assume did not hold."""


class NotInterpretable(KernelFault):
    """A feature this interpreter does not have. Says nothing about the kernel."""

    verdict = ""


def explain(exc: BaseException) -> str:
    """One to three lines for an author: what failed, on which line of the candidate, and that line."""
    text = str(exc).strip()[:_LONGEST_MESSAGE]
    if isinstance(exc, KernelFault):
        if exc.line is not None or (line := line_of(exc.__traceback__)) is None:
            return text
        return f"{text}\n  at {line}"
    head = f"{type(exc).__name__}: {text}" if text else type(exc).__name__
    line = line_of(exc.__traceback__)
    return f"{head}\n  at {line}" if line else head


def line_of(traceback: TracebackType | None) -> source_lines.SourceLine | None:
    """The innermost kernel line, or the innermost line outside installed packages."""
    kernel_line = host_line = None
    while traceback is not None:
        code, number = traceback.tb_frame.f_code, traceback.tb_lineno
        if source_lines.is_kernel_code(code):
            kernel_line = source_lines.SourceLine.read(code.co_filename, number)
        elif not source_lines.is_library(code.co_filename):
            host_line = source_lines.SourceLine.read(code.co_filename, number)
        traceback = traceback.tb_next
    return kernel_line or host_line
