"""Totals kept in 16 bits."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.source import JitFunction, KernelLoop, KernelSource
from tilesmith.lint.model.syntax.call_arguments import argument
from tilesmith.lint.model.syntax.flow import Binding, operands
from tilesmith.lint.rules.findings import warning
from tilesmith.lint.structure.device_flow.call_frames import CallFrame, frames_of
from tilesmith.lint.structure.device_flow.element_types import element_types
from tilesmith.lint.structure.launches.launch_arguments import MOST_LAUNCHES
from tilesmith.lint.vocabulary import LANGUAGE
from tilesmith.records import Finding

RULE = "low-precision-accumulator"
REMEDY = "accumulate in tl.float32 and cast at the store"
HALF = frozenset({"float16", "bfloat16"})


def low_precision_accumulator(source: KernelSource) -> Iterator[Finding]:
    """A sum carried through a loop in 16 bits, or a `tl.dot` that returns them."""
    seen: set[tuple[int, str]] = set()
    for frame in frames_of(source):
        for line, message in [*_dots(frame, source), *_sums(frame), *_totals(frame, source)]:
            if (line, message) not in seen:
                seen.add((line, message))
                yield warning(RULE, line, message)


def _dots(frame: CallFrame, source: KernelSource) -> Iterator[tuple[int, str]]:
    for call in frame.function.calls_of("dot"):
        kind = argument(call.node, 6, "out_dtype")
        if kind is not None and (name := _half(kind, frame, source)):
            yield call.line, f"this tl.dot returns {name}: {REMEDY}"


def _sums(frame: CallFrame) -> Iterator[tuple[int, str]]:
    """`tl.sum` adds in the type of its tile."""
    for call in frame.function.calls_of("sum"):
        tile = argument(call.node, 0, "input")
        kind = "" if tile is None else frame.function.value(tile).dtype
        if kind in HALF and argument(call.node, 3, "dtype") is None:
            yield call.line, f"this tl.sum adds up in {kind}: {REMEDY}"


def _totals(frame: CallFrame, source: KernelSource) -> Iterator[tuple[int, str]]:
    """Loop by loop, each name that grows by addition; reported where it starts."""
    function = frame.function
    for loop in function.loops:
        for name in sorted(loop.carried):
            if any(_adds(binding, name, function) for binding in loop.flow.by_name.get(name, ())):
                start = _start(function, loop, name)
                kind = "" if start is None else _kind(start, frame, source)
                if start is not None and kind:
                    yield start.line, f"{name} adds up in {kind} and loses digits: {REMEDY}"


def _start(function: JitFunction, loop: KernelLoop, name: str) -> Binding | None:
    """The last assignment before the loop."""
    before = [b for b in function.flow.by_name.get(name, ()) if b.line < loop.node.lineno and b.whole]
    return before[-1] if before else None


def _adds(binding: Binding, name: str, function: JitFunction) -> bool:
    """`acc += x`, `acc = acc * a + x`, `acc = tl.dot(a, b, acc)`, also with a cast around it."""
    value = binding.value
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "to":
        value = value.func.value
    operation = operands(value)
    if operation is not None:
        return isinstance(operation.op, (ast.Add, ast.Sub)) and name in function.flow.syntax.names(value)
    dot = isinstance(value, ast.Call) and any(call.node is value for call in function.calls_of("dot"))
    return dot and name in function.flow.syntax.names(value)


def _kind(start: Binding, frame: CallFrame, source: KernelSource) -> str:
    known = frame.function.value(start.value).dtype
    if known in HALF:
        return known
    if known == "" and isinstance(start.value, ast.Call):
        written = [*start.value.args[1:], *(k.value for k in start.value.keywords if k.arg == "dtype")]
        return next((kind for expression in written if (kind := _half(expression, frame, source))), "")
    return ""


def _half(kind: ast.expr, frame: CallFrame, source: KernelSource) -> str:
    """`float16` for `tl.float16`, for a parameter the host fills with it, and for the type of a half tensor."""
    dotted = source.dotted(kind) or ""
    if dotted.startswith(LANGUAGE):
        name = dotted.removeprefix(LANGUAGE)
        return name if name in HALF else ""
    if isinstance(kind, ast.Name) and kind.id in frame.passed:
        place = frame.passed[kind.id]
        return _half(place.node, place.frame, source) if isinstance(place.node, ast.expr) else ""
    if isinstance(kind, ast.Name) and kind.id in frame.function.constexprs:
        return _passed_by_host(kind.id, frame, source)
    if isinstance(kind, ast.Attribute) and kind.attr == "element_ty" and (names := source.syntax.names(kind)):
        found = element_types(source, frame, names.pop())
        return min(found) if found and found <= HALF else ""
    return ""


def _passed_by_host(name: str, frame: CallFrame, source: KernelSource) -> str:
    for launch in source.launches_of(frame.kernel)[:MOST_LAUNCHES]:
        passed = (launch.bound_to(frame.kernel) or {}).get(name)
        dotted = (source.dotted(passed) or "").rpartition(".")[2] if passed is not None else ""
        if dotted in HALF:
            return dotted
    return ""
