"""Atomics whose order shows in the result, and flags that hand data over without ordering it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.device.operations import literal
from tilesmith.lint.model.source import KernelLoop, KernelSource, LanguageCall
from tilesmith.lint.model.syntax.call_arguments import argument
from tilesmith.lint.rules.findings import first_on_each_line, warning
from tilesmith.lint.structure.addresses.accesses import expansion_of
from tilesmith.lint.structure.addresses.expansion import AddressExpansion
from tilesmith.lint.structure.device_flow.call_frames import CallFrame, frames_of
from tilesmith.lint.structure.device_flow.element_types import element_types
from tilesmith.lint.vocabulary import DOTS, LOADS, words
from tilesmith.records import Finding

RULE = "atomic-order"
SUMS = (
    "floating-point atomics add in a different order every run: where results must repeat, store partial sums "
    "and add them up in a second step"
)
PLAIN_SPIN = (
    "a wait on a plain load may never see the change, nor the data before it: wait with "
    'tl.atomic_add(flag, 0, sem="acquire")'
)
PLAIN_FLAG = (
    "a flag set by a plain store may be seen before the data it announces: set it with "
    'tl.atomic_xchg(flag, value, sem="release")'
)
RELAXED_FLAG = 'a relaxed atomic orders nothing: use sem="release" to set a flag and sem="acquire" to wait for it'
ATOMICS = words("atomic_add atomic_max atomic_min atomic_and atomic_or atomic_xor atomic_xchg atomic_cas")
QUIET = words("debug_barrier load inline_asm_elementwise") | ATOMICS
SIGNED = words("int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64")
WHOLE_TYPES = words("int8 int16 int32 int64 uint8 bool")


@first_on_each_line
def atomic_order(source: KernelSource) -> Iterator[Finding]:
    """Each line once, kernel by kernel."""
    expansion = expansion_of(source)
    groups: dict[CallFrame, list[CallFrame]] = {}
    for frame in frames_of(source):
        groups.setdefault(frame.root, []).append(frame)
    for frames in groups.values():
        for line, message in [*_flags(frames, expansion), *_sums(frames, expansion, source)]:
            yield warning(RULE, line, message)


def _sums(frames: list[CallFrame], expansion: AddressExpansion, source: KernelSource) -> Iterator[tuple[int, str]]:
    for frame in frames:
        for call in frame.function.calls_of("atomic_add"):
            if _adds_floats(call, frame, expansion, source):
                yield call.line, SUMS


def _adds_floats(call: LanguageCall, frame: CallFrame, expansion: AddressExpansion, source: KernelSource) -> bool:
    """A counter adds whole numbers, or its old value is used; what is loaded or multiplied counts as float."""
    value = argument(call.node, 1, "val")
    function = frame.function
    if value is None or not isinstance(function.flow.syntax.parents.get(call.node), ast.Expr):
        return False
    known = function.value(value).dtype
    if known in SIGNED:
        return False
    if any(element_types(source, frame.root, name) & WHOLE_TYPES for name in _bases(call, frame, expansion)):
        return False
    parts = [place.node for place in frame.behind(value)]
    loaded = any(expansion.operation(node) in LOADS | DOTS for node in parts)
    written = any(isinstance(node, ast.Constant) and type(node.value) is float for node in parts)
    return known.startswith(("float", "bfloat")) or loaded or written


def _bases(call: LanguageCall, frame: CallFrame, expansion: AddressExpansion) -> list[str]:
    """The kernel's parameter an address starts from."""
    pointer = argument(call.node, 0, "pointer")
    if pointer is None:
        return []
    for term in expansion.terms(pointer, frame):
        place = term.factors[0] if len(term.factors) == 1 else None
        if place is not None and place.frame.caller is None and isinstance(place.node, ast.Name):
            return [place.node.id]
    return []


def _flags(frames: list[CallFrame], expansion: AddressExpansion) -> Iterator[tuple[int, str]]:
    """Waits first; then whatever else touches what is waited for."""
    waits = [(call, frame) for frame in frames for loop in frame.function.loops for call in _waits(loop, frame)]
    flags = {name for call, frame in waits for name in _bases(call, frame, expansion)}
    for call, _ in waits:
        if call.operation == "load":
            yield call.line, PLAIN_SPIN
        elif _is_relaxed(call):
            yield call.line, RELAXED_FLAG
    for frame in frames if flags else []:
        for call in frame.function.calls_of("store", *ATOMICS):
            if flags & set(_bases(call, frame, expansion)):
                if call.operation == "store" and literal(argument(call.node, 1, "value")) != 0:
                    yield call.line, PLAIN_FLAG
                elif _is_relaxed(call):
                    yield call.line, RELAXED_FLAG


def _waits(loop: KernelLoop, frame: CallFrame) -> Iterator[LanguageCall]:
    """Reads of one place again and again: `while tl.load(flag) == 0: pass`.

    A volatile load sees changes; those who use it hand over flag and value in one word.
    """
    if not isinstance(loop.node, ast.While) or any(call.operation not in QUIET for call in loop.calls):
        return
    syntax = frame.function.flow.syntax
    asked = loop.flow.origins(loop.node.test) | syntax.names(loop.node.test)
    for call in frame.function.calls_of("load", *ATOMICS):
        tested = syntax.contains(loop.node.test, call.node)
        bound = any(b.name in asked and syntax.contains(b.value, call.node) for b in loop.flow.bindings)
        address = syntax.names(*call.node.args[:1])
        volatile = _is_true(argument(call.node, 7, "volatile"))
        if (tested or bound) and not volatile and not address & set(loop.flow.by_name):
            yield call


def _is_relaxed(call: LanguageCall) -> bool:
    sem = next((keyword.value for keyword in call.node.keywords if keyword.arg == "sem"), None)
    return isinstance(sem, ast.Constant) and sem.value == "relaxed"


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True
