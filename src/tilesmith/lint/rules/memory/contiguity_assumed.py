"""Inputs that a kernel reads as if they were contiguous, though nobody made sure."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.source import HostCode, KernelSource, LaunchSite
from tilesmith.lint.rules.findings import first_on_each_line, info
from tilesmith.lint.structure.addresses.accesses import by_kernel, expansion_of
from tilesmith.lint.structure.host_code.host_calls import host_calls
from tilesmith.lint.structure.launches.launch_arguments import MOST_LAUNCHES
from tilesmith.records import Finding

RULE = "contiguity-assumed"
CHECKS = frozenset({"is_contiguous", "contiguous", "stride", "view"})
"""Whoever asks a tensor for one of these has thought of its layout."""
DEEPEST_CALL = 3


@first_on_each_line
def contiguity_assumed(source: KernelSource) -> Iterator[Finding]:
    """Once per line: an input handed on as it came, without its strides."""
    expansion = expansion_of(source)
    for accesses in by_kernel(source):
        kernel = accesses[0].frame.kernel
        blocks = [a for a in accesses if a.frame.function.value(a.pointer).shape != ()]
        pointers = {name for access in blocks for name in access.base(expansion)}
        for launch in source.launches_of(kernel)[:MOST_LAUNCHES]:
            bound = launch.bound_to(kernel) or {}
            for name in sorted(pointers & bound.keys()):
                node = bound[name]
                if isinstance(node, ast.Name) and _is_raw(node.id, launch, source):
                    yield info(RULE, node.lineno, _message(node.id))


def _is_raw(name: str, launch: LaunchSite, source: KernelSource) -> bool:
    host = source.host_of(launch)
    return host is not None and _comes_raw(name, host, source, DEEPEST_CALL)


def _comes_raw(name: str, host: HostCode, source: KernelSource, depth: int) -> bool:
    """A parameter that this function leaves as it is, and that callers, if any, pass as it came to them."""
    if name not in host.params or name in host.flow.by_name or _is_asked(name, host, source):
        return False
    sites = host_calls(source).callers(host)
    if not sites:
        return True
    return depth > 0 and any(_passes_raw(name, site.call, site.host, host, source, depth) for site in sites)


def _passes_raw(
    name: str, call: ast.Call, caller: HostCode, host: HostCode, source: KernelSource, depth: int
) -> bool:
    given = (host_calls(source).passed(call, host) or {}).get(name)
    return isinstance(given, ast.Name) and _comes_raw(given.id, caller, source, depth - 1)


def _is_asked(name: str, host: HostCode, source: KernelSource) -> bool:
    """`x.stride(0)`, `assert x.is_contiguous()`."""
    for node in source.syntax.of_type(ast.Attribute, host.node):
        if node.attr in CHECKS and isinstance(node.value, ast.Name) and node.value.id == name:
            return True
    return False


def _message(name: str) -> str:
    return (
        f"{name} is read as if it were contiguous: call .contiguous(), assert is_contiguous(), or pass its strides"
    )
