"""What control flow means to Triton, called from rewritten kernels.

Python would take a block's truth for an answer, short-circuit masks joined by `and`, and hand
loop counters out as plain integers that have no `.to()`; a compiled kernel does none of this.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import triton.language as tl

from tilesmith.worker.compat.interpreter_names import MIN_AND_MAX_OF_MANY, largest, smallest
from tilesmith.worker.engines.interpreter import state
from tilesmith.worker.engines.interpreter.kernel_faults import KernelCompileFault
from tilesmith.worker.engines.interpreter.program_tape import whole

# A waiting loop on plain loads must let others run and see the deadline, at little cost.
_ITERATIONS_BETWEEN_PAUSES = 256

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Is": operator.is_,
    "IsNot": operator.is_not,
}


def as_value(value: Any) -> Any:
    """What an assignment stores: numbers and constexprs become tensors, as in the compiler."""
    if isinstance(value, tl.tensor):
        return value
    return state.semantic().to_tensor(value, False)


def truth(value: Any) -> Any:
    """The test of an `if`: a block has no truth value on a GPU."""
    if isinstance(value, tl.tensor) and value.handle.data.size > 1:
        shape = "x".join(str(size) for size in value.handle.data.shape)
        raise KernelCompileFault(
            f"an `if` or `while` tests a whole block ({shape}); reduce it to a scalar or use tl.where",
            state.current_location(),
        )
    return value


def keep_looping(value: Any) -> Any:
    """The test of a `while`, which may be waiting for another program."""
    if (tape := state.tape()) is not None:
        tape.give_up()
    state.launch().programs.current.may_wait = True
    if _is_time_to_pause():
        state.launch().programs.let_others_run()
    return truth(value)


def _is_time_to_pause() -> bool:
    launch = state.launch()
    launch.iterations += 1
    return launch.iterations % _ITERATIONS_BETWEEN_PAUSES == 0


def kernel_range(*bounds: Any, **_hints: Any) -> Iterator[Any]:
    """`range` and `tl.range`: the counter is a scalar tensor, 64 bit if a bound is."""
    tensors = [one for one in bounds if isinstance(one, tl.tensor)]
    wide = any(one.dtype.primitive_bitwidth == 64 for one in tensors)

    def numbers(handles: Sequence[Any]) -> range:
        given = iter(handles)
        return static_range(
            *(int(next(given).data.reshape(-1)[0]) if isinstance(one, tl.tensor) else one for one in bounds)
        )

    def shape(*handles: Any) -> tuple[int, bool]:
        """How often the loop goes round, and whether its counters are 32 bit."""
        all_numbers = numbers(handles)
        return len(all_numbers), all(-(2**31) <= one < 2**31 for one in (*all_numbers[:1], *all_numbers[-1:]))

    for turn in range(state.seen(shape, *(one.handle for one in tensors))[0]):
        if _is_time_to_pause():
            state.launch().check_deadline()

        def counter(some: Sequence[Any], turn: int = turn) -> Any:
            number = state.semantic().to_tensor(numbers([one.handle for one in some])[turn])
            return (state.semantic().cast(number, tl.int64) if wide else number,)

        yield whole(counter, tensors)[0]


def static_range(arg1: Any, arg2: Any = None, step: Any = None, **_hints: Any) -> range:
    """`tl.static_range`: the counter stays a compile-time constant."""
    start, end = (0, arg1) if arg2 is None else (arg1, arg2)
    return range(*(operator.index(n) for n in (start, end, 1 if step is None else step)))


def logical_and(*operands: Callable[[], Any]) -> Any:
    """`and`: elementwise on tensors; only compile-time constants short-circuit."""
    return _join(operands, decided_by=False, combine=lambda a, b: a.logical_and(b))


def logical_or(*operands: Callable[[], Any]) -> Any:
    """`or`: elementwise on tensors; only compile-time constants short-circuit."""
    return _join(operands, decided_by=True, combine=lambda a, b: a.logical_or(b))


def _join(operands: tuple[Callable[[], Any], ...], decided_by: bool, combine: Any) -> Any:
    joined = value = None
    for operand in operands:
        value = operand()
        if not isinstance(value, tl.tensor):
            if bool(value) is decided_by:
                return value
            continue
        joined = value if joined is None else combine(joined, value)
    return value if joined is None else joined


def logical_not(value: Any) -> Any:
    """`not`: elementwise on tensors."""
    return value.__not__() if isinstance(value, tl.tensor) else not value


def compare_chain(operators: list[str], *operands: Any) -> Any:
    """`a < b < c` as (a < b) & (b < c)."""
    pairs = zip(operators, operands, operands[1:], strict=False)
    results = [_COMPARISONS[name](left, right) for name, left, right in pairs]
    return logical_and(*(lambda result=result: result for result in results))


def refuse_global(name: str) -> None:
    """A kernel reached a variable of the host that is not a constant of Triton's."""
    raise KernelCompileFault(
        f"the kernel reads the global {name}, which Triton does not allow; "
        f"pass it as an argument or write {name} = tl.constexpr(...)",
        state.current_location(),
    )


def refuse_jump(statement: str) -> None:
    """A kernel reached a `break` or `continue`."""
    raise KernelCompileFault(
        f"Triton does not support `{statement}`; use a condition or a mask", state.current_location()
    )


def _silent(*_values: Any, **_options: Any) -> None:
    """Printing from thousands of programs helps nobody here."""


BUILTINS: dict[str, Any] = {"range": kernel_range, "print": _silent}
if MIN_AND_MAX_OF_MANY:
    BUILTINS |= {"min": smallest, "max": largest}
