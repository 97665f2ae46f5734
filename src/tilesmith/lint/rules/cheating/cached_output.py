"""Results that are kept from one call and handed out in another."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilesmith.lint.model.source import HostCode, KernelSource
from tilesmith.lint.rules.findings import first_on_each_line, warning
from tilesmith.lint.structure.host_code.host_calls import host_calls
from tilesmith.lint.structure.host_code.input_data import carries, host_data
from tilesmith.lint.structure.host_code.state_between_calls import StateBetweenCalls
from tilesmith.records import Finding

DECORATORS = frozenset({"functools.lru_cache", "functools.cache"})
MESSAGE = (
    "a result of an earlier call is returned here instead of being computed: neither shape, address nor "
    "identity tell that the input's values are the same; compute it every time"
)


@first_on_each_line
def cached_output(source: KernelSource) -> Iterator[Finding]:
    """Kept on the object, on the class, in a global, in a default argument, or by functools."""
    lines = [line for host in source.live_hosts for line in _returned_again(source, host)]
    for line in [*lines, *(node.lineno for node in _kept_by_decorator(source))]:
        yield warning("cached-output", line, MESSAGE)


def _returned_again(source: KernelSource, host: HostCode) -> Iterator[int]:
    kept = StateBetweenCalls(source, host)
    writes = kept.writes() if host.name != "__init__" else []
    if not writes or _replays(source, host) or _packs_anew(source, host):
        return
    places = {place for place, _ in writes}
    for node in source.syntax.of_type(ast.Return, host.node):
        reads = [(p, read) for p, read in kept.reads(node.value) if p in places] if node.value else []
        stale = {place for place, read in reads if not kept.written_before(place, read)}
        if stale and any(p in stale and carries(source, v, host_data(source)[host]) for p, v in writes):
            yield node.lineno


def _replays(source: KernelSource, host: HostCode) -> bool:
    """A CUDA graph writes its output anew at every replay."""
    return any(node.attr == "replay" for node in source.syntax.of_type(ast.Attribute, host.node))


def _packs_anew(source: KernelSource, host: HostCode) -> bool:
    """A function of an operator file that looks at a tensor's version repacks what may well be a weight."""
    attributes = {node.attr for node in source.syntax.of_type(ast.Attribute, host.node)}
    launches = host.node in host_calls(source).launching
    return "_version" in attributes and not source.has_model_class and not launches


def _kept_by_decorator(source: KernelSource) -> Iterator[ast.expr]:
    """`@lru_cache` above a function of tensors, or `lru_cache(maxsize=8)(function)`."""
    for node, dotted in source.names.dotted.items():
        if dotted not in DECORATORS or not isinstance(node, ast.expr) or not source.runs(node):
            continue
        if any(_computes(source, host) for host in _decorated(source, node)):
            yield node


def _decorated(source: KernelSource, node: ast.expr) -> list[HostCode]:
    above: ast.AST = node
    while isinstance(source.syntax.parents[above], ast.Call):
        above = source.syntax.parents[above]
    function = source.syntax.parents[above]
    if isinstance(function, ast.FunctionDef) and above in function.decorator_list:
        return [host for host in source.live_hosts if host.node is function]
    names = source.syntax.names(above)
    return [host for host in source.live_hosts if host.name in names]


def _computes(source: KernelSource, host: HostCode) -> bool:
    """It gets data and starts a kernel with it, or returns what it made of it."""
    given = {argument.arg for argument in host.node.args.args}
    data = host_data(source)[host]
    if not given & data:
        return False
    returned = [n.value for n in source.syntax.of_type(ast.Return, host.node) if n.value is not None]
    return host.node in host_calls(source).launching or any(carries(source, value, data) for value in returned)
