"""Normalization by structure: data scaled by a number that was reduced from it, in one kernel or in two."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tilesmith.lint.model.source import HostCode, JitFunction, KernelSource, LaunchSite
from tilesmith.lint.model.syntax.flow import operands
from tilesmith.lint.structure.addresses.buffers import buffers, loads_from, stores_to
from tilesmith.lint.structure.device_flow.value_flow import Dependence, Marks, load_calls
from tilesmith.lint.structure.reductions.reduction_sites import (
    accumulators,
    reduces,
    reduction_calls,
    shared_totals,
    stored_values,
)
from tilesmith.lint.structure.reductions.scalings import Scaling, changed_in_place, picks, scalings
from tilesmith.lint.vocabulary import words

LOGARITHMS = words("log log2")
ROOTS = words("sqrt rsqrt sqrt_rn")
FEWEST_PLACES = 3
"""Of one tensor, that make a statistic where they are written out one by one."""


def scales_by_statistic(function: JitFunction, source: KernelSource) -> bool:
    """`x * rstd`, `e / tl.sum(e)`, `x - logsumexp`, on the way to memory or back to the caller."""
    return _StatisticsReading(function, source).scales()


@dataclass(frozen=True)
class _TotalsView:
    """Totals of a loop are statistics of what it loads; they can also be the data that is scaled."""

    blocks: Dependence
    """Data that no reduction lies before."""
    statistics: Dependence
    data: Dependence
    """All data, reduced or not."""


class _StatisticsReading:
    """One function, its blocks and what was reduced from them."""

    def __init__(self, function: JitFunction, source: KernelSource) -> None:
        self.function, self.source = function, source
        shared = shared_totals(function, source)
        self.loads = load_calls(function, source) - shared
        self.reductions = reduction_calls(function, source) | shared
        self.totals = accumulators(function, source)
        given = function.node.args.args if function.name in source.called_names else []
        self.given = {a.arg: a for a in given if a.arg not in function.constexprs}

    def scales(self) -> bool:
        if not self.reductions and not self.totals and len(self.loads) <= FEWEST_PLACES:
            return False
        flow, stops = self.function.flow, {*self.loads, *self.reductions}
        logs = [call.node for call in self.function.calls_of(*LOGARITHMS)]
        self.logarithms = Dependence(flow, logs, self.loads)
        picked = picks(self.function, self.source)
        self.picked = Dependence(flow, picked, self.loads)
        whole, stops = self.loads - picked, stops | picked
        nothing = dict.fromkeys(self.totals, _NOTHING)
        self.views = [
            _TotalsView(
                Dependence(flow, whole, stops, {**nothing, **self.given}),
                Dependence(flow, self.reductions, self.loads, self.totals),
                Dependence(flow, self.loads, self.loads, self.given),
            ),
            _TotalsView(
                Dependence(flow, whole, stops, {**self.totals, **self.given}),
                Dependence(flow, self.reductions, self.loads),
                Dependence(flow, self.loads, self.loads, {**self.totals, **self.given}),
            ),
        ]
        scaled = [found for found in self._pairs() if self._is_scaled(found.block, found.scale)]
        return bool(scaled) and self._reaches_result(scaled)

    def _reaches_result(self, scaled: list[Scaling]) -> bool:
        """As it is; or reduced again after it was divided by a deviation or a length. A loss does not count."""
        aside = changed_in_place(self.function, self.source)
        flow, results = self.function.flow, [v for v in stored_values(self.function) if v not in aside]
        roots = Dependence(flow, [call.node for call in self.function.calls_of(*ROOTS)], self.loads)
        kept = Dependence(flow, [found.node for found in scaled], {*self.loads, *self.reductions})
        reduced = Dependence(flow, [found.node for found in scaled if roots.behind(found.scale)], self.loads)
        return any(kept.behind(result) or reduced.behind(result) for result in results)

    def _pairs(self) -> Iterator[Scaling]:
        """Each product, quotient and difference, except those that build up a total."""
        building = [node for total in self.totals.values() for node in self.function.flow.syntax.inside(total)]
        own = set(building)
        return (found for found in scalings(self.function, self.source) if found.node not in own)

    def _is_scaled(self, block: ast.expr, scale: ast.expr) -> bool:
        parent = self.function.flow.syntax.parents.get(block)
        subtracted = isinstance(parent, (ast.BinOp, ast.AugAssign)) and isinstance(parent.op, ast.Sub)
        if subtracted and not self.logarithms.behind(scale):
            return False
        if self.picked.marks and self.picked.behind(block):
            return False
        return any(self._scales_in(view, block, scale) for view in self.views) or self._is_written_out(block, scale)

    def _is_written_out(self, block: ast.expr, scale: ast.expr) -> bool:
        """`a / (a + b + c + d)`, each loaded by itself from one tensor."""
        if not self._is_crowded:
            return False
        data = self.views[0].data
        inside = [load for load in data.behind(scale) if isinstance(load, ast.Call) and load.args]
        for name in self._sources(data.behind(block)):
            own = [load for load in inside if name in buffers(self.function, load.args[0])]
            if len({ast.unparse(load.args[0]) for load in own}) >= FEWEST_PLACES:
                return not self._multiplies(scale)
        return False

    @cached_property
    def _is_crowded(self) -> bool:
        """Some tensor is loaded from so many places."""
        loads = [load for load in self.loads if isinstance(load, ast.Call) and load.args]
        names = Counter(name for load in loads for name in buffers(self.function, load.args[0]))
        return any(count > FEWEST_PLACES for count in names.values())

    def _multiplies(self, value: ast.expr) -> bool:
        """Different loads go in as factors, as gates do: that is no statistic."""
        data = self.views[0].data
        for node in self.function.flow.parts_behind(value):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
                left, right = data.behind(node.left), data.behind(node.right)
                if left and right and left != right:
                    return True
        return False

    def _scales_in(self, view: _TotalsView, block: ast.expr, scale: ast.expr) -> bool:
        statistic = view.statistics.behind(scale)
        data = view.blocks.behind(block) - {_NOTHING}
        if not statistic or not data:
            return False
        beside = self._sources(view.blocks.behind(scale) - {_NOTHING})
        reduced, scaled = self._sources(view.data.behind(*statistic)), self._sources(data) - beside
        return bool(scaled & reduced) or (bool(scaled) and not reduced)

    def _sources(self, marks: Marks) -> frozenset[str]:
        """Pointers loaded from, or parameters of a helper."""
        found: set[str] = set()
        for mark in marks:
            if isinstance(mark, ast.arg):
                found.add(mark.arg)
            elif mark in self.totals.values():
                found |= {f"total of {name}" for name, value in self.totals.items() if value is mark}
            elif isinstance(mark, ast.Call):
                address = mark.args[0] if mark.args and mark in self._plain_loads() else None
                owner = mark.func.value if isinstance(mark.func, ast.Attribute) else None
                place = address if address is not None else owner
                found |= buffers(self.function, place) if place is not None else set()
        return frozenset(found)

    def _plain_loads(self) -> frozenset[ast.AST]:
        return frozenset(call.node for call in self.function.calls)


_NOTHING = ast.Pass()
"""Stands for a total where blocks are asked for: it is none."""


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
    return bool(statistics and data) and _is_scaled_by(later.kernel, data, statistics, source, ways)


def _is_scaled_by(
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
