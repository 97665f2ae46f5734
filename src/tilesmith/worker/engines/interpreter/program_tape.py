"""The operations of one program, kept so that the other programs of its launch repeat them without the language.

Running a kernel's Python costs far more than its arithmetic: every line goes through Triton's type checks, which
say the same for every program, as they do for the compiler, which reads a kernel once. So the first program of a
launch is recorded: which operations of the builder it called, on what. Another program repeats those, from its own
program id on, with all that they do: loads, stores and atomics are tested, logged and let others run as ever. What
depends on arguments alone is computed once.

Wherever the recorded program looked at a number (the test of an `if`, how often a loop goes round), the repetition
compares, before anything else where a program id decides it. Another number there undoes what the program has
stored, and it runs as written, from its first line.
Kernels with volatile loads, `while` or descriptors are never recorded, nor what looks at a number of memory behind
an atomic, which cannot be undone: others may have seen it. What a program has stored belongs to that `Program`, so
that it may pause; nothing is recorded while it does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import triton.language as tl

from tilesmith.worker.compat.interpreter_names import TUPLES
from tilesmith.worker.engines.interpreter import state
from tilesmith.worker.engines.interpreter.kernel_code import source_lines
from tilesmith.worker.engines.interpreter.operations.handles import Handle

_MOST_TAPES = 3
"""Of one launch: programs at an edge may take another branch than those within."""
_FEWEST_PROGRAMS = 3
_MOST_STATIC_BYTES = 1 << 28
"""Of results that are the same for all programs; what comes later is computed for each."""
_ATOMICS = ("create_atomic_rmw", "create_atomic_cas")
_ALWAYS_ANEW = ("create_get_program_id", "create_load", "create_masked_load", "create_inline_asm", *_ATOMICS)
_EFFECTS = ("create_store", "create_masked_store", "create_assert", "create_assume", *_ATOMICS)
_NEVER_EARLY = {*_ALWAYS_ANEW, *_EFFECTS} - {"create_get_program_id"}
"""They look at memory, change it or end the program; whatever else there is can be done at any time."""
_TUPLE: Any = TUPLES[-1]
"""Triton's own, where it has one."""
_PLAIN = (bool, int, float, str, type(None), tl.dtype)


class AnotherWay(Exception):
    """A program goes another way than the recorded one."""


class _Place(NamedTuple):
    """Where a result of an earlier operation stands among arguments."""

    slot: int


class _Operation(NamedTuple):
    function: Callable[..., Any]
    arguments: list[Any]
    places: tuple[tuple[int, int], ...]
    """Positions of arguments, and the slots they come from."""
    slots: tuple[int, ...]
    """For its results; one that gives several gives a tuple."""
    is_single: bool
    line: Any
    """Of the kernel, for whatever is reported."""
    is_early: bool
    """It can be done before anything that concerns memory."""


class Tape:
    """The operations of one recorded program."""

    def __init__(self, arguments: Any) -> None:
        self.is_usable = True
        self._builder = state.semantic().builder
        self._operations: list[_Operation] = []
        self._own = object()
        """Marks the values of this program."""
        self._count = self._static_bytes = 0
        self._last_uses: list[tuple[int, ...]] = []
        self._early: set[int] = set()
        """Slots of what is known before anything that concerns memory."""
        self._has_atomics = False
        for handle in _handles_in(arguments):
            self._keep(handle, None)

    def start(self) -> None:
        """Operations from now on are recorded."""
        state.semantic().builder = _RecordingBuilder(self._builder, self)
        state.record_on(self)

    def stop(self) -> None:
        """They no longer are."""
        state.semantic().builder = self._builder
        state.record_on(None)

    def give_up(self) -> None:
        """What the program does cannot be repeated."""
        self.is_usable = False
        self.stop()

    def call(self, name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run an operation, and keep it for the programs to come."""
        line = source_lines.current_line()
        self.stop()  # an atomic may let another program run
        result = function(*args, **kwargs)
        if self.is_usable:
            self.start()
            if _handles_in(kwargs):
                self.give_up()
            self._remember(name, functools.partial(function, **kwargs) if kwargs else function, args, result, line)
        return result

    def _remember(self, name: str, function: Any, args: tuple[Any, ...], result: Any, line: Any) -> None:
        arguments = [self._placed(one) for one in args]
        made = _results(result)
        depends = any(map(_depends, arguments)) or name in _ALWAYS_ANEW
        if not depends and name not in _EFFECTS and self._static_bytes <= _MOST_STATIC_BYTES:
            for handle in made or ():
                self._static_bytes += handle.data.nbytes
                self._keep(handle, None)
        elif made is None:
            self.give_up()
        else:
            slots = tuple(range(self._count, self._count + len(made)))
            self._count += len(made)
            for handle, slot in zip(made, slots, strict=True):
                self._keep(handle, slot)
            self._has_atomics |= name in _ATOMICS
            self._add(function, arguments, slots, isinstance(result, Handle), line, name not in _NEVER_EARLY)

    def saw(self, handles: Sequence[Any], number: Any, read: Callable[..., Any]) -> None:
        """The program's own Python has looked at a number; `read` looks at it again."""
        places = [self._placed(one) for one in handles]
        if not any(map(_depends, places)):
            return

        def compare(*again: Any) -> None:
            if read(*again) != number:
                raise AnotherWay

        self._add(compare, places, (), False, None, True)
        if self._has_atomics and not self._operations[-1].is_early:
            self.give_up()  # whoever goes another way could not undo them

    def finish(self) -> None:
        """Nothing more is recorded: numbers are compared as early as they can be, values kept as long as needed."""
        first: list[bool] = []
        wanted: set[int] = set()
        for operation in reversed(self._operations):
            first.append(operation.is_early and (not operation.slots or not wanted.isdisjoint(operation.slots)))
            wanted.update(slot for _, slot in operation.places if first[-1])
        order = zip(reversed(first), self._operations, strict=True)
        self._operations = [operation for _, operation in sorted(order, key=lambda one: not one[0])]
        seen: set[int] = set()
        for operation in reversed(self._operations):
            used = {slot for _, slot in operation.places} | set(operation.slots)
            self._last_uses.append(tuple(used - seen))
            seen |= used
        self._last_uses.reverse()

    def repeat(self) -> None:
        """Another program: raises AnotherWay where it is not like the recorded one."""
        values: list[Any] = [None] * self._count
        program = state.launch().programs.current
        for operation, over in zip(self._operations, self._last_uses, strict=True):
            function, arguments, places, slots, is_single, program.repeated_line, _ = operation
            if places:
                arguments = arguments.copy()
                for position, slot in places:
                    arguments[position] = values[slot]
            result = function(*arguments)
            if is_single:
                values[slots[0]] = result
            elif slots:
                for slot, one in zip(slots, _results(result) or (), strict=True):
                    values[slot] = one
            for slot in over:
                values[slot] = None

    def _add(
        self, function: Any, arguments: list[Any], slots: tuple[int, ...], is_single: bool, line: Any, is_pure: bool
    ) -> None:
        if any(type(one) is list and _depends(one) for one in arguments):
            function, arguments = _spread(function, arguments)
        places = tuple((i, one.slot) for i, one in enumerate(arguments) if isinstance(one, _Place))
        is_early = is_pure and all(slot in self._early for _, slot in places)
        self._early.update(slots if is_early else ())
        self._operations.append(_Operation(function, arguments, places, slots, is_single, line, is_early))

    def _placed(self, value: Any) -> Any:
        """An argument, with places for what differs between programs."""
        if isinstance(value, Handle):
            owner, slot = value.place or (None, None)
            if owner is not self._own:
                self.give_up()  # made where nobody saw it
            return value if slot is None else _Place(slot)
        if isinstance(value, list | tuple):
            return [self._placed(one) for one in value] if _handles_in(value) else value
        if not isinstance(value, _PLAIN) and (hasattr(value, "base") or _handles_in(value)):
            self.give_up()  # a descriptor, a block pointer, or values where they are not looked for
        return value

    def _keep(self, handle: Any, slot: int | None) -> None:
        """Remember where a value comes from; no slot: it is the same for all programs."""
        handle.place = (self._own, slot)


def _spread(function: Callable[..., Any], arguments: list[Any]) -> tuple[Callable[..., Any], list[Any]]:
    """A call with lists of handles as one with all handles side by side."""
    flat: list[Any] = []

    def number(value: Any) -> Any:
        if type(value) is list:
            return [number(one) for one in value]
        flat.append(value)
        return len(flat) - 1

    form = [number(one) for one in arguments]

    def call(*given: Any) -> Any:
        def filled(one: Any) -> Any:
            return [filled(part) for part in one] if type(one) is list else given[one]

        return function(*(filled(one) for one in form))

    return call, flat


def _depends(argument: Any) -> bool:
    return isinstance(argument, _Place) or (type(argument) is list and any(map(_depends, argument)))


def _handles_in(value: Any) -> list[Any]:
    if isinstance(value, Handle):
        return [value]
    if isinstance(value, tl.tensor):
        return [value.handle]
    inside = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple | _TUPLE) else ()
    )
    return [handle for one in inside for handle in _handles_in(one)]


def _results(result: Any) -> Sequence[Any] | None:
    """The values that an operation gave, in order; None where it gave something else."""
    if isinstance(result, Handle):
        return (result,)
    if result is None:
        return ()
    if hasattr(result, "results"):
        return tuple(result.results)
    if isinstance(result, list | tuple) and all(isinstance(one, Handle) for one in result):
        return tuple(result)
    return None


class _RecordingBuilder:
    """Stands before the builder while a program is recorded."""

    def __init__(self, builder: Any, tape: Tape) -> None:
        self.__dict__.update(builder=builder, tape=tape)

    def __getattr__(self, name: str) -> Any:
        member = getattr(self.builder, name)
        if not callable(member):
            return member
        if name not in _ATOMICS and ("atomic" in name or "descriptor" in name or "block_ptr" in name):
            self.tape.give_up()
            return member
        return functools.partial(self._call, name, member)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.builder, name, value)

    def _call(self, name: str, member: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if name in ("create_load", "create_masked_load"):
            if kwargs.get("is_volatile", args[-1] is True):
                self.tape.give_up()
                return member(*args, **kwargs)
            other = self.builder.given_other
            if name == "create_masked_load" and args[2] is None and other is not None:
                args = (*args[:2], other.handle, *args[3:])  # which Triton dropped
        return self.tape.call(name, member, args, kwargs)


class Tapes:
    """The recorded programs of one launch."""

    def __init__(self, count: int, arguments: Any) -> None:
        self._arguments = arguments
        self._tapes: list[Tape] = []
        self._records = count >= _FEWEST_PROGRAMS
        self._misses = self._hits = 0

    def run(self, body: Callable[[], Any]) -> None:
        """One program: as a recorded one went, or as it is written."""
        for tape in tuple(self._tapes):  # programs that run while this one pauses may add some
            if _repeated(tape):
                self._hits += 1
                return
            self._misses += 1
        if self._misses > self._hits + 2 * _MOST_TAPES:
            self._tapes.clear()
            self._records = False
        if not self._records or len(self._tapes) == _MOST_TAPES:
            body()
            return
        self._records = False  # by one at a time
        tape = Tape(self._arguments)
        tape.start()
        try:
            body()
        finally:
            tape.stop()
        if tape.is_usable:
            tape.finish()
            self._tapes.insert(0, tape)
            self._records = True


def _repeated(tape: Tape) -> bool:
    """Whether a program went like the recorded one; if not, nothing of it is left."""
    program = state.launch().programs.current
    program.stored = []
    try:
        tape.repeat()
        return True
    except AnotherWay:
        assert program.stored is not None, "an atomic cannot be undone"
        for array, index, before in reversed(program.stored):
            array[index] = before
        return False
    finally:
        program.stored = program.repeated_line = None


def whole(function: Callable[..., Any], tensors: Sequence[Any]) -> Any:
    """A function of tensors as one operation: what it does inside is done again by every program."""
    tape = state.tape()
    if tape is None:
        return function(tensors)
    types = [one.type for one in tensors]
    made: list[Any] = []

    def on_handles(*handles: Any) -> list[Any]:
        made[:] = function([tl.tensor(handle, kind) for handle, kind in zip(handles, types, strict=True)])
        return [one.handle for one in made]

    tape.call("whole", on_handles, tuple(one.handle for one in tensors), {})
    return tuple(made)
