"""Normalization by structure: data scaled by a number that was reduced from the same data."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.structure.addresses.buffers import buffers
from tilesmith.lint.structure.device_flow.value_flow import Dependence, Marks, load_calls
from tilesmith.lint.structure.reductions.reduction_sites import (
    accumulators,
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
