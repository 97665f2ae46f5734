"""What a call in host code does to the buffers it is given: which ones its launches read, and which they fill."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from tilesmith.lint.model.source import HostCode, KernelSource, LaunchSite
from tilesmith.lint.structure.addresses.buffers import loads_from, stores_to
from tilesmith.lint.structure.host_code.host_calls import HostCalls

DEEPEST_CALL = 3


@dataclass(frozen=True)
class LaunchEffects:
    """Of one call, by the callee's parameter names."""

    passed: Mapping[str, ast.expr]
    read: frozenset[str]
    """Read before anything else fills them."""
    written: frozenset[str]


NOTHING = LaunchEffects({}, frozenset(), frozenset())


def launch_effects(source: KernelSource, launch: LaunchSite) -> LaunchEffects:
    kernels = [kernel for name in launch.kernels for kernel in source.jit_named(name)[-1:]]
    for kernel in kernels:
        bound = launch.bound_to(kernel)
        if bound is not None:
            read = loads_from(source, kernel) & bound.keys()
            return LaunchEffects(bound, frozenset(read), frozenset(stores_to(source, kernel) & bound.keys()))
    return NOTHING


def effects_of(
    source: KernelSource, calls: HostCalls, call: ast.Call, host: HostCode, depth: int = DEEPEST_CALL
) -> LaunchEffects:
    """Of a call that leads to a launch in another function of the file."""
    for callee in calls.callees(call, host):
        passed = calls.passed(call, callee)
        if passed is not None and depth:
            if callee.node not in calls.buffers:
                calls.buffers[callee.node] = (frozenset(), frozenset())
                calls.buffers[callee.node] = _summary(source, calls, callee, depth - 1)
            read, written = calls.buffers[callee.node]
            return LaunchEffects(passed, read & passed.keys(), written & passed.keys())
    return NOTHING


def _summary(
    source: KernelSource, calls: HostCalls, host: HostCode, depth: int
) -> tuple[frozenset[str], frozenset[str]]:
    """Parameters the function's launches read before they fill them, and those they fill."""
    names = set(host.params)
    read: set[str] = set()
    written: set[str] = set()
    for call in calls.launching_calls(host, *host.node.body):
        if call in calls.launches:
            found = launch_effects(source, calls.launches[call])
        else:
            found = effects_of(source, calls, call, host, depth)
        read |= {_root(found.passed[name]) for name in found.read} - written
        written |= {_root(found.passed[name]) for name in found.written}
    return frozenset(read & names), frozenset(written & names)


def _root(value: ast.expr) -> str:
    while isinstance(value, (ast.Subscript, ast.Attribute)):
        value = value.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        return _root(value.func.value)
    return value.id if isinstance(value, ast.Name) else ""
