"""Python that Triton's compiler has no word for, in any release."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.device.inference import DEVICE_RANGES
from tilesmith.lint.model.device.values import ValueKind
from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.rules.findings import compile_fault, info
from tilesmith.lint.structure.device_flow.compile_time import is_fraction, is_launched, is_runtime
from tilesmith.records import Finding, Severity

RULE = "python-in-kernel"
FORBIDDEN: dict[type[ast.AST], str] = {
    ast.Dict: "a dict: use separate names",
    ast.Set: "a set: use separate names",
    ast.Lambda: "a lambda: write a @triton.jit function at module level",
    ast.GeneratorExp: "a generator: write the loop out",
    ast.DictComp: "a dict: use separate names",
    ast.SetComp: "a set: use separate names",
    ast.Try: "try: test the condition before",
    ast.Import: "an import: move it to the top of the file",
    ast.ImportFrom: "an import: move it to the top of the file",
    ast.Global: "global: pass the value as an argument",
    ast.Nonlocal: "nonlocal: pass the value as an argument",
    ast.Delete: "del: leave it out",
    ast.ClassDef: "a class: keep kernels to functions",
    ast.FunctionDef: "a function inside the kernel: move it to module level and decorate it with @triton.jit",
    ast.AsyncFunctionDef: "a function inside the kernel: move it to module level",
    ast.Yield: "yield: store the result",
    ast.YieldFrom: "yield: store the result",
    ast.Await: "await: kernels do not wait",
    ast.Match: "match: use if and elif",
}
WHOLE_ONLY: dict[type[ast.operator], str] = {
    ast.FloorDiv: "//",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})
FLOATS_TEXT = "floating-point tensors: convert with .to(tl.int32), or use / and tl.floor"
POWER = "a tensor has no **: multiply it out, or use tl.exp2(y * tl.log2(x))"
MEMBERSHIP = "Triton cannot compile `in`: compare with each value, `(x == a) | (x == b)`"
TARGETS = "Triton cannot bind two names in one statement: write `a = 0` and `b = 0` on lines of their own"
ITERATION = "Triton loops only over range, tl.range and tl.static_range: index the values, or write the turns out"
LOOP_ELSE = "Triton cannot compile `else` after a loop: put it after the loop"
APPENDING = "lists cannot grow in a kernel: use separate names, or one block and tl.where"
LISTING = "Triton makes no list from a range: use separate names, or one block and tl.where"
RAISING = "Triton cannot compile raise: use tl.device_assert or tl.static_assert"
PRINTING = "print in a kernel starts with a text: print('x =', x)"


def refused_constructs(source: KernelSource) -> Iterator[Finding]:
    """Constructs without a visitor, and operators tensors do not have."""
    for function in source.jit_functions:
        for node in function.nodes:
            if (what := FORBIDDEN.get(type(node))) and isinstance(node, (ast.expr, ast.stmt)):
                yield compile_fault(source, RULE, node, f"Triton cannot compile {what}")
            match node:
                case ast.BinOp() | ast.AugAssign():
                    yield from _operator(source, function, node)
                case ast.Compare() if any(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops):
                    yield compile_fault(source, RULE, node, MEMBERSHIP)
                case ast.Assign():
                    yield from _assignment(source, function, node)
                case ast.For():
                    yield from _loop(source, node)
                case ast.While() if node.orelse:
                    yield compile_fault(source, RULE, node, LOOP_ELSE)
                case ast.ListComp():
                    yield from _listing(source, node)
                case ast.Raise() if node in source.surely_compiled:
                    # behind a branch on constants it is a way to refuse them, and as good as tl.static_assert
                    yield compile_fault(source, RULE, node, RAISING)
                case ast.JoinedStr():
                    yield from _text(source, function, node)
                case ast.Call():
                    yield from _call(source, function, node)


def _operator(source: KernelSource, function: JitFunction, node: ast.BinOp | ast.AugAssign) -> Iterator[Finding]:
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
    tensors = [value for side in sides if (value := function.value(side)).kind is ValueKind.TENSOR]
    if isinstance(node.op, ast.MatMult):
        yield compile_fault(source, RULE, node, "Triton cannot compile `@`: use tl.dot(a, b)")
    elif isinstance(node.op, ast.Pow) and tensors:
        yield compile_fault(source, RULE, node, POWER)
    elif (word := WHOLE_ONLY.get(type(node.op))) and any(value.dtype in FLOATS for value in tensors):
        yield compile_fault(source, RULE, node, f"`{word}` takes whole numbers, not {FLOATS_TEXT}")


def _assignment(source: KernelSource, function: JitFunction, node: ast.Assign) -> Iterator[Finding]:
    """Refused while the source is read, compiled or not."""
    starred = [
        part for target in node.targets for part in getattr(target, "elts", ()) if isinstance(part, ast.Starred)
    ]
    if starred:
        yield compile_fault(source, RULE, node, "Triton cannot unpack into a starred name: bind each part")
    if len(node.targets) > 1:
        severity = Severity.ERROR if is_launched(source, function) else Severity.WARNING
        yield Finding(RULE, severity, node.lineno, TARGETS)


def _loop(source: KernelSource, node: ast.For) -> Iterator[Finding]:
    called = node.iter.func if isinstance(node.iter, ast.Call) else None
    builtin = isinstance(called, ast.Name) and source.names.scope_binding(called) is None
    name = called.id if isinstance(called, ast.Name) else ""
    if called is None or (builtin and name in ("enumerate", "zip", "reversed", "sorted", "map", "filter", "list")):
        yield compile_fault(source, RULE, node, ITERATION)
    elif (source.dotted(called) or name) in DEVICE_RANGES:
        if node.orelse:
            yield compile_fault(source, RULE, node, LOOP_ELSE)
        if not isinstance(node.target, ast.Name):
            yield compile_fault(source, RULE, node, "a range gives one number per turn: loop with a single name")
        for bound in node.iter.args if isinstance(node.iter, ast.Call) else ():
            if is_fraction(bound):
                message = (
                    f"a loop counts whole turns, but {ast.unparse(bound)} is a fraction: divide with //, or tl.cdiv"
                )
                yield compile_fault(source, RULE, node, message)


def _listing(source: KernelSource, node: ast.ListComp) -> Iterator[Finding]:
    iterated = node.generators[0].iter
    called = iterated.func if isinstance(iterated, ast.Call) else None
    name = called.id if isinstance(called, ast.Name) else (source.dotted(called) or "" if called else "")
    if name.rpartition(".")[2] in ("range", "static_range") or len(node.generators) > 1:
        yield compile_fault(source, RULE, node, LISTING)
    else:
        yield info(RULE, node.lineno, "releases before 3.4 cannot compile a list made by a comprehension")


def _text(source: KernelSource, function: JitFunction, node: ast.JoinedStr) -> Iterator[Finding]:
    for part in node.values:
        if isinstance(part, ast.FormattedValue) and is_runtime(source, function, part.value):
            message = (
                f"an f-string is made by the compiler, but {ast.unparse(part.value)} is known only on the device: "
                "use tl.device_print('text', value)"
            )
            yield compile_fault(source, RULE, node, message)
            return


def _call(source: KernelSource, function: JitFunction, node: ast.Call) -> Iterator[Finding]:
    match node.func:
        case ast.Attribute(value=base, attr="append" | "extend" | "insert"):
            if function.value(base).kind is ValueKind.TUPLE or _is_list(function, base):
                yield compile_fault(source, RULE, node, APPENDING)
        case ast.Name(id="print") if node.args and function.value(node.args[0]).kind is ValueKind.TENSOR:
            if source.names.scope_binding(node.func) is None:
                yield compile_fault(source, RULE, node, PRINTING)


def _is_list(function: JitFunction, base: ast.expr) -> bool:
    values = function.flow.values_of(base.id) if isinstance(base, ast.Name) else []
    return bool(values) and all(isinstance(value, ast.List) for value in values)
