"""Where values are reduced: by a function of the language, a method, a helper or an atomic, or turn by turn."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from tilesmith.lint.model.source import JitFunction, KernelLoop, KernelSource, cached_per_source
from tilesmith.lint.structure.addresses.buffers import buffers, helper_calls
from tilesmith.lint.structure.device_flow.value_flow import Dependence, Marks, load_calls, loaded_data
from tilesmith.lint.vocabulary import REDUCTIONS, STORES, words

METHODS = words("sum max min argmax argmin reduce xor_sum")
ATOMICS = words("atomic_add atomic_max atomic_min")
DEEPEST_CALL = 4
SMALLEST_WINDOW = 4
"""Two by two."""


@cached_per_source
def reduction_calls(function: JitFunction, source: KernelSource, depth: int = DEEPEST_CALL) -> Marks:
    """`tl.sum(x)`, `x.sum()`, and calls of jit functions that hand back nothing but a statistic."""
    found: set[ast.AST] = {call.node for call in function.calls if call.operation in REDUCTIONS}
    for node in function.nodes:
        match node:
            case ast.Call(func=ast.Attribute(attr=name)) if name in METHODS and source.dotted(node.func) is None:
                found.add(node)
            case ast.Call(func=ast.Name(id=name)) if depth and name in function.callees:
                if any(_returns_statistic(callee, source, depth - 1) for callee in source.jit_named(name)[-1:]):
                    found.add(node)
    return frozenset(found)


def _returns_statistic(callee: JitFunction, source: KernelSource, depth: int) -> bool:
    """Every `return` is made of reductions, and of blocks only through them."""
    returns = [node.value for node in callee.nodes if isinstance(node, ast.Return) and node.value is not None]
    reductions = reduction_calls(callee, source, depth)
    given = [argument for argument in callee.node.args.args if argument.arg not in callee.constexprs]
    ends: Mapping[str, ast.AST] = {argument.arg: argument for argument in given}
    reduced = Dependence(callee.flow, reductions, reductions)
    bare = Dependence(callee.flow, (), reductions, ends)
    blocks = {argument for argument in given if _is_reduced(argument.arg, reductions, callee)}
    return bool(returns) and all(reduced.behind(r) and not bare.behind(r) & blocks for r in returns)


def _is_reduced(name: str, reductions: Marks, callee: JitFunction) -> bool:
    calls = [node for node in reductions if isinstance(node, ast.Call)]
    return any(name in callee.flow.origins(call) for call in calls)


@cached_per_source
def accumulators(function: JitFunction, source: KernelSource) -> Mapping[str, ast.AST]:
    """Names that a loop builds up from what it loads in each turn, each with the statement that does it."""
    # calls of jit functions that load something and hand it back
    loads = load_calls(function, source) | frozenset(
        call for call, callee in helper_calls(source, function) if load_calls(callee, source)
    )
    loaded = Dependence(function.flow, loads, loads)
    found: dict[str, ast.AST] = {}
    for loop in function.loops:
        for name, value in _built_up(loop):
            inside = [load for load in loaded.behind(value) if loop.flow.syntax.contains(loop.node, load)]
            if inside and not _is_address(name, function):
                found[name] = value
    return found


def _built_up(loop: KernelLoop) -> list[tuple[str, ast.AST]]:
    """Carried names with their new values; `acc[i] = ...`, which Triton refuses, means the same."""
    found = [(name, b.value) for name in loop.carried for b in loop.flow.by_name.get(name, ())]
    for node in loop.flow.syntax.of_type(ast.Assign, *loop.node.body):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                found.append((target.value.id, node.value))
    return found


@cached_per_source
def shared_totals(function: JitFunction, source: KernelSource) -> Marks:
    """Loads of what the programs added up by atomics before."""
    added = [call.node for call in function.calls_of(*ATOMICS) if len(call.node.args) > 1]
    reduced = Dependence(function.flow, reduction_calls(function, source), ())
    names = frozenset(n for c in added if reduced.behind(c.args[1]) for n in buffers(function, c.args[0]))
    loads = [load for load in load_calls(function, source) if isinstance(load, ast.Call) and load.args]
    return frozenset(load for load in loads if names & buffers(function, load.args[0])) if names else frozenset()


def _is_address(name: str, function: JitFunction) -> bool:
    """It goes into loads as their address."""
    addresses = [call.node.args[0] for call in function.calls_of("load") if call.node.args]
    return any(name in function.flow.syntax.names(address) for address in addresses)


def reduces(parts: tuple[JitFunction, ...], source: KernelSource) -> bool:
    """Something stored, handed back or added by atomics is the result of a reduction."""
    return any(part.calls_of(*ATOMICS) or _ends_reduced(part, source) or _pools(part, source) for part in parts)


def _pools(part: JitFunction, source: KernelSource) -> bool:
    """A window written out: several places of one tensor in one stored value, nothing else loaded for it."""
    loaded = loaded_data(part, source)
    for value in stored_values(part):
        behind = [load for load in loaded.behind(value) if isinstance(load, ast.Call) and load.args]
        places = {ast.unparse(load.args[0]) for load in behind}
        sources = {name for load in behind for name in buffers(part, load.args[0])}
        if len(places) >= SMALLEST_WINDOW and len(sources) == 1 and not _weighs(value, loaded, part):
            return True
    return False


def _weighs(value: ast.AST, loaded: Dependence, part: JitFunction) -> bool:
    """Some of what is loaded has a factor of its own, as in an interpolation."""
    everything = loaded.behind(value)
    for node in part.flow.parts_behind(value):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            sides = [loaded.behind(side) for side in (node.left, node.right)]
            if any(one and one < everything and not other for one, other in (sides, sides[::-1])):
                return not isinstance(node.left, ast.Constant) and not isinstance(node.right, ast.Constant)
    return False


def _ends_reduced(part: JitFunction, source: KernelSource) -> bool:
    marks = reduction_calls(part, source)
    totals = accumulators(part, source)
    if not marks and not totals:
        return False
    places = [argument for call in part.calls if call.operation in STORES for argument in call.node.args[:1]]
    called = Dependence(part.flow, marks, ())
    built = Dependence(part.flow, (), load_calls(part, source), totals)
    results = [*places, *stored_values(part)]
    return any(called.behind(result) or built.behind(result) for result in results)


def stored_values(function: JitFunction) -> list[ast.AST]:
    """What leaves a function: the values it stores and what it returns."""
    stored = [a for call in function.calls if call.operation in STORES for a in call.node.args[1:2]]
    named = [k.value for call in function.calls for k in call.node.keywords if k.arg == "value"]
    found: list[ast.AST] = [*stored, *named]
    for node in function.nodes:
        match node:
            case ast.Return(value=ast.expr() as value):
                found.append(value)
            case ast.Call(func=ast.Attribute(attr="store")) if node.args[1:2]:
                found.append(node.args[1])
    return found
