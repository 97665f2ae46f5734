"""Which variables of host code hold data: values of the inputs, and not only their shapes or the weights."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from tilesmith.lint.model.source import MODEL_CLASS, HostCode, KernelSource, cached_per_source
from tilesmith.lint.structure.host_code.host_calls import host_calls
from tilesmith.lint.structure.host_code.host_dependence import is_metadata_use
from tilesmith.lint.structure.host_code.launch_results import launch_results
from tilesmith.lint.vocabulary import words

MOST_ROUNDS = 8
ALLOCATORS = words("torch.empty torch.zeros torch.ones torch.empty_strided")
TENSOR_WORDS = words("shape size numel stride dim ndim is_cuda data_ptr contiguous is_contiguous")


@cached_per_source
def host_data(source: KernelSource) -> Mapping[HostCode, frozenset[str]]:
    """By function: parameters that callers pass data for, and what is made of them."""
    calls = host_calls(source)
    names = {host: _entry_data(source, host) for host in source.live_hosts}
    for _ in range(MOST_ROUNDS):
        before = sum(map(len, names.values()))
        for host, known in names.items():
            names[host] = _spread(source, host, known)
        for host in names:
            for site in calls.callers(host):
                passed = calls.passed(site.call, host) or {}
                data = names.get(site.host, frozenset())
                names[host] |= {name for name, value in passed.items() if carries(source, value, data)}
        if sum(map(len, names.values())) == before:
            break
    return names


def carries(source: KernelSource, value: ast.AST, data: frozenset[str]) -> bool:
    """The value is made of data, and not of sizes alone; fresh memory holds none yet."""
    waiting = [value] if data & source.syntax.names(value) else []
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and node.id in data and not is_metadata_use(node, source.syntax):
            return True
        if not (isinstance(node, ast.Call) and (source.dotted(node.func) or "") in ALLOCATORS):
            waiting += ast.iter_child_nodes(node)
    return False


def _entry_data(source: KernelSource, host: HostCode) -> frozenset[str]:
    """The inputs of the model; without one, parameters that a function uses as tensors."""
    if host.owner is not None and host.owner.name == MODEL_CLASS and host.name == "forward":
        rest = host.node.args.vararg
        return frozenset(host.params[1:]) | ({rest.arg} if rest else set())
    if host.name == "__init__" or host_calls(source).callers(host):
        return frozenset()
    asked = [n.value for n in source.syntax.of_type(ast.Attribute, host.node) if n.attr in TENSOR_WORDS]
    return frozenset(host.params) & {value.id for value in asked if isinstance(value, ast.Name)}


def _spread(source: KernelSource, host: HostCode, known: frozenset[str]) -> frozenset[str]:
    """With everything in the function that is made of data, or written by a launch that reads some."""
    launches = [launch for launch in source.live_launches if launch.function is host.node]
    for _ in range(MOST_ROUNDS):
        more = {b.name for b in host.flow.bindings if carries(source, b.value, known)}
        for launch in launches:
            if any(carries(source, argument, known) for argument in launch.node.args):
                written = launch_results(source).written(launch)
                more |= {argument.id for argument in written if isinstance(argument, ast.Name)}
        if more <= known:
            break
        known |= more
    return known
