"""Normalization in two kernels: one reduces a tensor to a buffer, another scales the same tensor by it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tilesmith.lint.model.source import HostCode, JitFunction, KernelSource, LaunchSite
from tilesmith.lint.model.syntax.flow import operands
from tilesmith.lint.structure.addresses.buffers import buffers, loads_from, stores_to
from tilesmith.lint.structure.device_flow.value_flow import Dependence, load_calls
from tilesmith.lint.structure.reductions.reduction_sites import reduces
from tilesmith.lint.vocabulary import words

MAKERS = words(
    "empty zeros ones full empty_like zeros_like ones_like full_like new_empty new_zeros new_full new_ones"
)
DESCRIBING = words("shape dtype device stride size numel dim ndim")


@dataclass(frozen=True)
class _NormalizationStep:
    """A launch with its kernel and the host names its pointers stand for."""

    kernel: JitFunction
    read: frozenset[str]
    written: frozenset[str]
    names: dict[str, frozenset[str]]
    """Host names behind each parameter."""


def normalizes_in_steps(source: KernelSource) -> bool:
    for host in source.live_hosts:
        steps = list(_steps(host, source))
        for number, first in enumerate(steps):
            parts, later = source.with_callees(first.kernel), steps[number + 1 :]
            if reduces(parts, source) and _is_scaled_later(first, later, source):
                return True
    return False


def _is_scaled_later(first: _NormalizationStep, steps: list[_NormalizationStep], source: KernelSource) -> bool:
    """By its own result, or by what further kernels make of nothing else."""
    made = first.written
    for later in steps:
        if _scales_by(first, made, later, source):
            return True
        if later.read & made and not later.read & (first.read - first.written):
            made |= later.written
    return False


def _steps(host: HostCode, source: KernelSource) -> Iterator[_NormalizationStep]:
    for launch in source.live_launches:
        if launch.function is host.node:
            for name in launch.kernels:
                for kernel in source.jit_named(name):
                    yield _read_step(launch, kernel, host, source)


def _read_step(launch: LaunchSite, kernel: JitFunction, host: HostCode, source: KernelSource) -> _NormalizationStep:
    bound = launch.bound_to(kernel) or {}
    names = {param: _made_from(value, host, source) for param, value in bound.items()}
    direct = {param: _name(value) for param, value in bound.items()}
    read = {direct[param] for param in loads_from(source, kernel) if direct.get(param)}
    written = {direct[param] for param in stores_to(source, kernel) if direct.get(param)}
    return _NormalizationStep(kernel, frozenset(filter(None, read)), frozenset(filter(None, written)), names)


def _made_from(value: ast.AST, host: HostCode, source: KernelSource) -> frozenset[str]:
    """Names whose data is in the value; a tensor made new takes only sizes from another."""
    seen: set[str] = set()
    waiting = [value]
    while waiting:
        current = waiting.pop()
        for node in source.syntax.inside(current) if not _is_new(current) else ():
            parent = source.syntax.parents.get(node)
            described = isinstance(parent, ast.Attribute) and parent.attr in DESCRIBING
            if isinstance(node, ast.Name) and node.id not in seen and not described:
                seen.add(node.id)
                waiting += host.flow.values_of(node.id)
    return frozenset(seen)


def _is_new(value: ast.AST) -> bool:
    """`torch.empty(...)`, `x.new_zeros(...)`, and parts of such a tensor."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr in MAKERS:
            return True
        value = value.func.value
    return False


def _name(value: ast.expr) -> str | None:
    """`sums` for `sums[0]`, too."""
    while isinstance(value, ast.Subscript):
        value = value.value
    return value.id if isinstance(value, ast.Name) else None


def _scales_by(
    first: _NormalizationStep, made: frozenset[str], later: _NormalizationStep, source: KernelSource
) -> bool:
    """The later kernel reads what both read, and scales it by what was made of it."""
    common = (first.read - first.written) & later.read
    statistics = {param for param, names in later.names.items() if names & made and not names & common}
    data = {param for param, names in later.names.items() if names & common}
    logarithmic = any(part.calls_of("log", "log2") for part in source.with_callees(first.kernel))
    ways = (ast.Mult, ast.Div, ast.Sub) if logarithmic else (ast.Mult, ast.Div)
    return bool(statistics and data) and _scales(later.kernel, data, statistics, source, ways)


def _scales(
    kernel: JitFunction,
    data: set[str],
    statistics: set[str],
    source: KernelSource,
    ways: tuple[type[ast.operator], ...],
) -> bool:
    """After a logarithm, subtracting scales. A statistic can also be handed over as a plain number."""
    loads = load_calls(kernel, source)
    numbers = {a.arg: a for a in kernel.node.args.args if a.arg in statistics}
    behind = Dependence(kernel.flow, loads, loads, numbers)

    def comes_from(value: ast.expr, params: set[str]) -> bool:
        marks = behind.behind(value)
        found = [load.args[0] for load in marks if isinstance(load, ast.Call) and load.args]
        named = {mark.arg for mark in marks if isinstance(mark, ast.arg)}
        return bool(named & params) or any(buffers(kernel, address) & params for address in found)

    for node in kernel.nodes:
        found = operands(node)
        if found is not None and isinstance(found.op, ways):
            sides = (found.left, found.right), (found.right, found.left)
            if any(comes_from(one, data) and comes_from(other, statistics) for one, other in sides):
                return True
    return False
