"""A launch that the kernel's signature cannot take."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from tilesmith.lint.model.source import JitFunction, KernelSource, LaunchSite
from tilesmith.lint.model.syntax.call_arguments import hides_arguments
from tilesmith.lint.releases import LAUNCH_OPTIONS
from tilesmith.lint.rules.findings import compile_fault, run_fault
from tilesmith.lint.vocabulary import TORCH_TYPES
from tilesmith.records import Finding

RULE = "launch-arguments"
DECORATORS = frozenset({"triton.jit", "triton.autotune", "triton.heuristics"})


def launch_arguments(source: KernelSource) -> Iterator[Finding]:
    """Missing, unknown and surplus arguments; a kernel called like a function."""
    for launch in source.live_launches:
        functions = source.kernels_of(launch)
        if len(functions) == 1 and _is_plain(source, functions[0]) and _names_it(source, launch, functions[0]):
            for message in _complaints(source, launch, functions[0]):
                yield run_fault(source, RULE, launch.node, message)
    yield from _calls_without_grid(source)
    for function in source.jit_functions:
        yield from _device_calls(source, function)


def _names_it(source: KernelSource, launch: LaunchSite, function: JitFunction) -> bool:
    """The launch names this very function, and not a parameter or a local of the same name."""
    started = launch.node.func.value if launch.direct and isinstance(launch.node.func, ast.Subscript) else None
    return isinstance(started, ast.Name) and _is_visible(source, started, function)


def _device_calls(source: KernelSource, caller: JitFunction) -> Iterator[Finding]:
    """A jit function called by another with too few or too many arguments."""
    for node in caller.nodes:
        if type(node) is not ast.Call or not isinstance(node.func, ast.Name) or node.func.id not in caller.callees:
            continue
        functions = source.jit_named(node.func.id)
        if len(functions) == 1 and _is_plain(source, functions[0]) and _is_visible(source, node.func, functions[0]):
            for message in _wrong_call(node, functions[0]):
                yield compile_fault(source, RULE, node, message)


def _is_visible(source: KernelSource, name: ast.Name, function: JitFunction) -> bool:
    return source.names.scope_binding(name) is source.names.scope_of[function.node]


def _wrong_call(call: ast.Call, function: JitFunction) -> Iterator[str]:
    given = function.node.args
    if hides_arguments(call) or given.vararg is not None or given.kwarg is not None:
        return
    named = [str(keyword.arg) for keyword in call.keywords]
    yield from _twice(call, function)
    if len(call.args) > len(given.posonlyargs) + len(given.args):
        yield f"{function.name} takes {len(function.params)} arguments, and {len(call.args)} are given"
    if unknown := [name for name in named if name not in function.params and not name.startswith("_")]:
        yield f"{function.name} has no parameter {unknown[0]}: see its signature"
    passed = {*function.params[: len(call.args)], *named, *function.defaults}
    if missing := [name for name in function.params if name not in passed]:
        yield f"{function.name} is called without {', '.join(missing)}: pass {'them' if missing[1:] else 'it'}"


def _is_plain(source: KernelSource, function: JitFunction) -> bool:
    """Under Triton's own decorators only, so that nobody else fills in or may_suppress_exceptions arguments."""
    decorators = [d.func if isinstance(d, ast.Call) else d for d in function.node.decorator_list]
    scope = source.names.scope_of[function.node]
    once = len(scope.bindings.get(function.name, ())) == 1
    return once and bool(decorators) and all(source.dotted(decorator) in DECORATORS for decorator in decorators)


def _complaints(source: KernelSource, launch: LaunchSite, function: JitFunction) -> Iterator[str]:
    given = function.node.args
    if given.kwarg is not None or function.heuristics is None:
        return
    for keyword in launch.node.keywords:
        if keyword.arg is None or keyword.arg in function.params or keyword.arg in LAUNCH_OPTIONS:
            continue
        near = get_close_matches(keyword.arg, function.params, n=1, cutoff=0.6)
        cure = f"did you mean {near[0]}?" if near else "add it to the signature, or leave it out"
        yield f"{function.name} has no parameter {keyword.arg}: {cure}"
    yield from _unknown_in_grid(launch, function)
    positional = len(given.posonlyargs) + len(given.args)
    starred = any(isinstance(argument, ast.Starred) for argument in launch.node.args)
    if not starred and given.vararg is None and len(launch.node.args) > positional:
        yield f"{function.name} takes {positional} positional arguments, and {len(launch.node.args)} are given"
    yield from _twice(launch.node, function)
    bound = launch.bound_to(function)
    if bound is None or given.vararg is not None:
        return
    passed = {*bound, *function.defaults, *_filled(function)}
    missing = [name for name in function.params if name not in passed]
    if missing and _tells_all(function):
        yield f"{function.name} is launched without {', '.join(missing)}: pass {'them' if missing[1:] else 'it'}"
    yield from _texts(bound, function)
    yield from _types(source, bound, function)


def _twice(call: ast.Call, function: JitFunction) -> Iterator[str]:
    """By position and by name."""
    before = next((i for i, a in enumerate(call.args) if isinstance(a, ast.Starred)), len(call.args))
    positional = set(function.params[:before])
    for keyword in call.keywords:
        if keyword.arg in positional:
            yield f"{function.name} is given {keyword.arg} twice, by position and by name: drop one"


def _filled(function: JitFunction) -> frozenset[str]:
    """Parameters that decorators pass."""
    tuned = frozenset() if function.autotune is None else function.autotune.meta
    return tuned | (function.heuristics or frozenset())


def _tells_all(function: JitFunction) -> bool:
    """No unread decorator can be passing what the launch leaves out."""
    return function.autotune is None or function.autotune.complete


def _unknown_in_grid(launch: LaunchSite, function: JitFunction) -> Iterator[str]:
    """`lambda meta: (... meta["BLOCK"] ...)` asks for a parameter by name."""
    grid = launch.grid
    if not isinstance(grid, ast.Lambda) or len(grid.args.args) != 1:
        return
    meta = grid.args.args[0].arg
    for node in ast.walk(grid.body):
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str() as key)) if name == meta:
                if key not in function.params and key not in _filled(function) and _tells_all(function):
                    yield f"the grid asks for {key}, which is no parameter of {function.name}"


def _texts(bound: Mapping[str, ast.expr], function: JitFunction) -> Iterator[str]:
    for name, value in bound.items():
        if name in function.constexprs:
            continue
        text = isinstance(value, ast.Constant) and isinstance(value.value, str)
        if text or isinstance(value, (ast.List, ast.Dict, ast.Set, ast.Lambda, ast.ListComp)):
            kind = "a string" if text else "a Python object"
            yield f"{name} is given {kind}, but is no tl.constexpr parameter: annotate it `{name}: tl.constexpr`"


def _types(source: KernelSource, bound: Mapping[str, ast.expr], function: JitFunction) -> Iterator[str]:
    """`x.dtype` is torch's; a kernel that converts to it needs Triton's."""
    for name, value in bound.items():
        if _is_torch_type(source, value) and _converts_to(source, function, name):
            given = f"{name} is given {ast.unparse(value)}, a type of torch"
            yield f"{given}, where the kernel needs Triton's own: pass tl.float32 or the like"


def _is_torch_type(source: KernelSource, value: ast.expr) -> bool:
    """`torch.float32`, or `x.dtype` where the file itself keeps nothing under that name."""
    if not isinstance(value, ast.Attribute):
        return False
    if (source.dotted(value) or "").removeprefix("torch.") in TORCH_TYPES:
        return True
    owned = any(getattr(n, "id", getattr(n, "attr", "")) == "dtype" and _is_stored(n) for n in source.syntax.nodes)
    return (
        value.attr == "dtype" and not owned and not (isinstance(value.value, ast.Name) and value.value.id == "self")
    )


def _is_stored(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store)


def _converts_to(source: KernelSource, function: JitFunction, name: str) -> bool:
    """`.to(NAME)` or `dtype=NAME` in code that is certainly compiled."""
    if name in function.flow.by_name:
        return False
    for node in function.nodes:
        if type(node) is ast.Call and node in source.surely_compiled:
            to = (
                isinstance(node.func, ast.Attribute)
                and node.func.attr == "to"
                and node.func not in source.names.dotted
            )
            given = [
                *(node.args if to else ()),
                *(k.value for k in node.keywords if k.arg in ("dtype", "out_dtype")),
            ]
            if any(isinstance(value, ast.Name) and value.id == name for value in given):
                return True
    return False


def _calls_without_grid(source: KernelSource) -> Iterator[Finding]:
    device = {node for function in source.jit_functions for node in source.syntax.inside(function.node)}
    module = source.names.module
    own = [f for f in source.jit_functions if source.names.scope_of[f.node] is module and _is_plain(source, f)]
    kernels = {function.name for function in own if len(module.bindings.get(function.name, ())) == 1}
    for node in source.syntax.nodes:
        if type(node) is not ast.Call or not isinstance(node.func, ast.Name) or node.func.id not in kernels:
            continue
        if (
            node not in device
            and source.names.scope_binding(node.func) is source.names.module
            and source.runs(node)
        ):
            message = f"{node.func.id} is a kernel and needs a grid: {node.func.id}[(programs,)](...)"
            yield run_fault(source, RULE, node, message)
