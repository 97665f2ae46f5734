"""Host code whose PyTorch work is part of what a file computes, as opposed to references and trial runs."""

from __future__ import annotations

import ast

from tilesmith.lint.model.source import HostCode, KernelSource
from tilesmith.lint.structure.host_code.host_calls import HostCalls, host_calls
from tilesmith.lint.vocabulary import words

COMPARING = words("eq ne lt le gt ge isin isnan isinf isfinite logical_and logical_or logical_not")
PLACES = words("torch.arange torch.nonzero torch.where torch.searchsorted")
PASSING = words("to int long contiguous view reshape flatten sum tolist cpu cuda flip repeat_interleave")
DEEPEST_LOOK = 6


def computing_functions(source: KernelSource) -> list[HostCode]:
    """All that can run; in a file of operators those that start kernels, and what they call."""
    if source.has_model_class:
        return list(source.live_hosts)
    calls = host_calls(source)
    starting = [h for h in source.live_hosts if h.node in calls.launching and not _is_trial(h, calls, source)]
    found = {host.node: host for host in starting}
    waiting = list(starting)
    while waiting:
        host = waiting.pop()
        for call in source.syntax.of_type(ast.Call, *host.node.body):
            fresh = [callee for callee in calls.callees(call, host) if callee.node not in found]
            found |= {callee.node: callee for callee in fresh}
            waiting += fresh
    return list(found.values()) or list(source.live_hosts)


def _is_trial(host: HostCode, calls: HostCalls, source: KernelSource) -> bool:
    """It takes nothing and nothing calls it, or a benchmark of Triton's runs it."""
    given = host.node.args
    takes = given.args or given.posonlyargs or given.kwonlyargs or given.vararg or given.kwarg
    if host.owner is None and not takes and not calls.callers(host):
        return True
    parts = [part for decorator in host.node.decorator_list for part in source.syntax.inside(decorator)]
    return any((source.dotted(part) or "").startswith("triton.testing.") for part in parts)


def counts_places(value: ast.expr | None, host: HostCode, source: KernelSource, depth: int = DEEPEST_LOOK) -> bool:
    """A comparison, numbers of places, or something cut out of such: `(ids == 0).cumsum(0)`."""
    match value:
        case ast.Compare():
            return True
        case ast.Call(func=function) if source.dotted(function) in PLACES:
            return True
        case ast.Call(func=ast.Attribute(value=owner, attr=name)) if source.dotted(value.func) is None:
            return name in COMPARING or (name in PASSING and counts_places(owner, host, source, depth))
        case ast.Subscript():
            return counts_places(value.value, host, source, depth)
        case ast.Name(id=name) if depth:
            values = [v for v in host.flow.values_of(name) if isinstance(v, ast.expr)]
            return bool(values) and all(counts_places(v, host, source, depth - 1) for v in values)
    return False
