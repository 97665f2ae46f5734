"""One launch of a kernel: from `kernel[grid](...)` to the end of its last program."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Any

from tilesmith.worker.compat.torch_names import DisableTorchFunction
from tilesmith.worker.engines.interpreter import state
from tilesmith.worker.engines.interpreter.arguments import Grid, KernelSignature, grid_dimensions, kernel_values
from tilesmith.worker.engines.interpreter.kernel_code import source_lines
from tilesmith.worker.engines.interpreter.kernel_code.rewriting import rewrite
from tilesmith.worker.engines.interpreter.kernel_faults import (
    KernelCompileFault,
    KernelFault,
    KernelLocation,
    KernelTimeout,
    NotInterpretable,
    line_of,
)
from tilesmith.worker.engines.interpreter.memory.extents import MemoryMap
from tilesmith.worker.engines.interpreter.memory.races import RaceLog
from tilesmith.worker.engines.interpreter.program_schedule import ProgramSchedule
from tilesmith.worker.engines.interpreter.program_tape import Tapes
from tilesmith.worker.fake_cuda.graphs import start_work

if TYPE_CHECKING:
    from tilesmith.worker.engines.interpreter.interpreter import InterpreterEngine

# Python's own complaints about a kernel's line; the compiler has the same ones.
_COMPILE_ERRORS_IN_KERNEL = (NameError, AttributeError, TypeError)
_COMPILE_ERRORS_IN_LANGUAGE = (
    ValueError,
    TypeError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
)
# Traces of the language calling into a builder that knows less than it expects.
_OUR_LIMITS = ("create_", "call_JitFunction", "'Handle' object", "Builder")


class ActiveLaunch:
    """What the programs of one launch share."""

    def __init__(self, kernel: str, grid: Grid, interpreter: InterpreterEngine) -> None:
        self.kernel = kernel
        self._interpreter = interpreter
        self.number = len(interpreter.launches)
        self.is_later = self.number > 1
        """Earlier launches came to an end: slow then means large, not endless."""
        self.iterations = 0
        self.memory = MemoryMap()
        self.races = RaceLog(active=interpreter.find_races)
        self.programs = ProgramSchedule(kernel, grid, interpreter.next_order(), self.check_deadline)

    def check_deadline(self) -> None:
        """Raise when the caller's patience is at an end: no program ends for long, or all take too long."""
        interpreter, now = self._interpreter, time.monotonic()
        if interpreter.deadline is None or now <= interpreter.deadline:
            return
        reached = (self.number, self.programs.finished)
        if reached > interpreter.reached and now < interpreter.last_moment:
            interpreter.reached = reached
            interpreter.deadline = min(now + interpreter.patience_s, interpreter.last_moment)
            return
        if self.programs.finished > 1 or self.is_later:
            how_far = f"{self.programs.finished + 1} of {self.programs.count} programs of launch {self.number}"
            raise NotInterpretable(
                f"too much work for Triton's interpreter in the time given (--timeout), which ended at {how_far}, "
                f"{self.kernel}"
            )
        raise KernelTimeout("the kernel ran past its deadline", state.current_location())


@functools.cache
def interpretable(function: Any) -> Any:
    """The rewritten twin of a device function."""
    return rewrite(function)


@functools.cache
def signature_of(function: Any) -> KernelSignature:
    """The parameters of a kernel, read once."""
    return KernelSignature(function)


def run_kernel(interpreter: InterpreterEngine, kernel: Any, args: Any, kwargs: Any, grid: Any) -> None:
    """Run all programs of a grid on the tensors given."""
    bound = signature_of(kernel.fn).bind(args, kwargs)
    dimensions = grid_dimensions(grid, {**kwargs, **bound})
    for hook in () if interpreter.is_muted else kernel.pre_run_hooks:
        hook(*args, **kwargs)
    start_work(functools.partial(_run_programs, interpreter, kernel.fn, dimensions), bound, kernel.fn.__name__)


def _run_programs(interpreter: InterpreterEngine, function: Any, dimensions: Grid, bound: dict[str, Any]) -> None:
    """The launch itself; a CUDA graph repeats it at every replay."""
    interpreter.record(function, dimensions, bound)
    if interpreter.is_muted:
        return
    with DisableTorchFunction():
        interpreter.observer.before_launch(bound.values())
    launch = ActiveLaunch(function.__name__, dimensions, interpreter)
    state.set_launch(launch)
    try:
        # The caller may keep a mode active that shows CPU tensors as CUDA ones.
        with DisableTorchFunction():
            body = interpretable(function)
            values = kernel_values(bound, signature_of(function).constants, launch.memory)
            tapes = Tapes(launch.programs.count if interpreter.repeats_programs else 0, list(values.values()))
            launch.programs.run(functools.partial(tapes.run, functools.partial(body, **values)))
    except KernelFault:
        raise
    except Exception as error:
        if _is_compile_error(error):
            raise _compile_fault(error, launch) from error
        raise
    finally:
        state.set_launch(None)
        with DisableTorchFunction():
            interpreter.observer.after_launch(bound.values())
    if launch.races.conflict is not None:
        raise launch.races.conflict


def _is_compile_error(error: Exception) -> bool:
    """Whether the compiler runs into the same error: its type checks are the code that raised."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return False
    code = traceback.tb_frame.f_code
    if source_lines.is_triton_language(code.co_filename):
        return isinstance(error, _COMPILE_ERRORS_IN_LANGUAGE)
    return source_lines.is_kernel_code(code) and isinstance(error, _COMPILE_ERRORS_IN_KERNEL)


def _compile_fault(error: Exception, launch: ActiveLaunch) -> KernelFault:
    location = KernelLocation(launch.kernel, launch.programs.current.index, line_of(error.__traceback__))
    if isinstance(error, TypeError | AttributeError) and any(trace in str(error) for trace in _OUR_LIMITS):
        return NotInterpretable(f"the interpreter does not fit this Triton: {error}", location)
    return KernelCompileFault(f"the kernel does not compile: {type(error).__name__}: {error}", location)
