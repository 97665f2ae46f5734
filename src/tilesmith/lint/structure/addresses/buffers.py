"""Which pointer parameter of a jit function an address starts from, and which ones it loads from and stores to."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from tilesmith.lint.model.device.values import PARAMETER, ValueKind
from tilesmith.lint.model.source import HostCode, JitFunction, KernelSource, cached_per_source
from tilesmith.lint.model.syntax.call_arguments import arguments_by_name
from tilesmith.lint.vocabulary import LOADS, STORES, words

DEEPEST_LOOK = 8
POINTER_MAKERS = words("make_block_ptr make_tensor_descriptor advance multiple_of max_contiguous cast")
"""Their first argument, or `base`, is the pointer."""
DEEPEST_CALL = 4
MOST_CALLS = 2_000
"""Between the jit functions of one file; nobody writes more by hand."""
KernelAccess = tuple[str, ast.expr]
"""The pointer parameter and the address."""


@cached_per_source
def buffers(function: JitFunction, address: ast.expr, depth: int = DEEPEST_LOOK) -> frozenset[str]:
    """The parameters the address may start from: `x_ptr` for `row + i` after `row = x_ptr + r * stride`."""
    if depth == 0:
        return frozenset()
    match address:
        case ast.Name(id=name):
            found = frozenset({name}) if name in function.params else frozenset()
            return found.union(*(buffers(function, value, depth - 1) for value in _fresh_values(function, name)))
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return buffers(function, address.left, depth - 1) or buffers(function, address.right, depth - 1)
        case ast.Subscript():
            return buffers(function, address.value, depth - 1)
        case ast.IfExp():
            return buffers(function, address.body, depth - 1) | buffers(function, address.orelse, depth - 1)
        case ast.Call():
            return _behind_call(function, address, depth - 1)
    return frozenset()


@cached_per_source
def _fresh_values(function: JitFunction, name: str) -> tuple[ast.expr, ...]:
    """What the name is set to, leaving out steps that move it on from where it was."""
    own = [binding.value for binding in function.flow.by_name.get(name, ()) if binding.whole]
    return tuple(v for v in own if isinstance(v, ast.expr) and name not in function.flow.syntax.names(v))


def _behind_call(function: JitFunction, call: ast.Call, depth: int) -> frozenset[str]:
    """A block pointer, an advanced or a cast pointer: the first argument or the object itself."""
    if call in _language_calls(function):
        base = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "base"), None)
        return frozenset() if base is None else buffers(function, base, depth)
    return buffers(function, call.func.value, depth) if isinstance(call.func, ast.Attribute) else frozenset()


@cached_per_source
def _language_calls(function: JitFunction) -> frozenset[ast.Call]:
    return frozenset(call.node for call in function.calls)


def loads_from(source: KernelSource, function: JitFunction) -> frozenset[str]:
    """Parameters something is loaded through, here or in the functions it calls."""
    return _accessed(source, function, LOADS)


def stores_to(source: KernelSource, function: JitFunction) -> frozenset[str]:
    """Parameters something is stored through, here or in the functions it calls."""
    return _accessed(source, function, STORES)


def accesses(function: JitFunction, operations: frozenset[str]) -> Iterator[KernelAccess]:
    """Loads or stores of the function itself."""
    for call in function.calls:
        if call.operation in operations and call.node.args:
            for name in buffers(function, call.node.args[0]):
                yield name, call.node.args[0]


def _accessed(source: KernelSource, function: JitFunction, operations: frozenset[str]) -> frozenset[str]:
    return _all_accessed(source, operations).get(function.node, frozenset())


@cached_per_source
def _all_accessed(source: KernelSource, operations: frozenset[str]) -> Mapping[ast.AST, frozenset[str]]:
    """By function: its own accesses first, then again and again what the functions it calls add."""
    found: dict[ast.AST, frozenset[str]] = {}
    for function in source.jit_functions:
        found[function.node] = frozenset(name for name, _ in accesses(function, operations))
    calls = [(f, call, callee) for f in source.jit_functions for call, callee in helper_calls(source, f)]
    for _ in range(DEEPEST_CALL if len(calls) <= MOST_CALLS else 0):
        for function, call, callee in calls:
            passed = arguments_by_name(callee.params, call)
            inner = [passed[name] for name in found[callee.node] if name in passed]
            found[function.node] = found[function.node].union(*(buffers(function, value) for value in inner))
    return found


@cached_per_source
def helper_calls(source: KernelSource, function: JitFunction) -> tuple[tuple[ast.Call, JitFunction], ...]:
    """Calls of other jit functions of the file, with the function meant."""
    found: list[tuple[ast.Call, JitFunction]] = []
    if not function.callees:
        return ()
    for node in function.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in function.callees:
            found += [(node, callee) for callee in source.jit_named(node.func.id)[-1:]]
    return tuple(found)


def pointer_params(address: ast.AST, kernel: JitFunction) -> set[str]:
    """The run-time parameters that stand in an address as a summand, through any number of names."""
    found: set[str] = set()
    seen: set[str] = set()
    waiting: list[ast.AST] = [address]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            if node.id in kernel.params and node.id not in kernel.constexprs:
                found.add(node.id)
            if node.id not in seen:
                seen.add(node.id)
                waiting += kernel.flow.values_of(node.id)
        else:
            waiting += _summands(node)
    return found


def _summands(node: ast.AST) -> list[ast.AST]:
    match node:
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return [node.left, node.right]
        case ast.AugAssign(op=ast.Add() | ast.Sub()):
            return [node.target, node.value]
        case ast.Call(func=ast.Attribute(value=cast, attr="to")):
            return [cast]
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in POINTER_MAKERS:
            return [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "base")]
        case ast.Call(func=ast.Attribute(attr="where"), args=[_, one, other]):
            return [one, other]
        case ast.IfExp():
            return [node.body, node.orelse]
        case ast.Subscript():
            return [node.value]
        case ast.Tuple():
            return [*node.elts]
    return []


TENSOR_METHODS = words(
    "contiguous clone detach float half bfloat16 cuda new_empty new_zeros new_ones new_full view reshape"
)
TENSOR_MAKERS = words(
    """
    torch.empty torch.zeros torch.ones torch.full torch.empty_like torch.zeros_like torch.ones_like torch.full_like
    torch.randn torch.rand torch.randn_like torch.rand_like torch.arange torch.tensor
    """
)
LONGEST_CHAIN = 4


def is_pointer(source: KernelSource, function: JitFunction, name: str) -> bool:
    """Addresses are made of it, or every launch passes it a torch tensor; else it may be a tuple."""
    return _makes_addresses(function, name) or _gets_tensors(source, function, name)


def _makes_addresses(function: JitFunction, name: str) -> bool:
    """`x_ptr + offsets` with a run-time offset, or `tl.load(x_ptr)`; a tuple would take part in neither."""
    for node in function.nodes:
        if type(node) is ast.BinOp and isinstance(node.op, ast.Add):
            for side, other in ((node.left, node.right), (node.right, node.left)):
                if _is_plain(function, side, name) and function.value(other).kind is ValueKind.TENSOR:
                    return True
    accesses = [call.node for call in function.calls if call.name in LOADS | STORES and call.node.args]
    return any(_is_plain(function, access.args[0], name) for access in accesses)


def _is_plain(function: JitFunction, node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and function.value(node) == PARAMETER


def _gets_tensors(source: KernelSource, function: JitFunction, name: str) -> bool:
    launches = source.launches_of(function)
    for launch in launches:
        bound = launch.bound_to(function) if launch.direct else None
        passed = None if bound is None else bound.get(name)
        if passed is None or not _is_tensor(source, source.host_of(launch), passed, LONGEST_CHAIN):
            return False
    return bool(launches)


def _is_tensor(source: KernelSource, host: HostCode | None, value: ast.AST, depth: int) -> bool:
    match value:
        case ast.Call(func=ast.Attribute(attr=method)) if method in TENSOR_METHODS:
            return True
        case ast.Call():
            return source.dotted(value.func) in TENSOR_MAKERS
        case ast.Name(id=name) if host is not None and depth:
            bindings = host.flow.by_name.get(name, ())
            whole = bool(bindings) and all(binding.whole for binding in bindings)
            return whole and all(_is_tensor(source, host, b.value, depth - 1) for b in bindings)
    return False
