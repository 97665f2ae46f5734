"""Normalization by structure: data scaled by a number that was reduced from the same data."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tilesmith.lint.model.flow import operands
from tilesmith.lint.model.source import JitFunction, KernelSource
from tilesmith.lint.structure.buffers import buffers
from tilesmith.lint.structure.dependence import Dependence, Marks, load_calls
from tilesmith.lint.structure.reductions import accumulators, reduction_calls, stored_values
from tilesmith.lint.vocabulary import words

DIVISIONS = words("fdiv div_rn")
LOGARITHMS = words("log log2")
ROOTS = words("sqrt rsqrt sqrt_rn")


def scales_by_statistic(function: JitFunction, source: KernelSource) -> bool:
    """`x * rstd`, `e / tl.sum(e)`, `x - logsumexp`, on the way to memory or back to the caller."""
    return _Reading(function, source).scales()


@dataclass(frozen=True)
class _View:
    """Totals of a loop are statistics of what it loads; they can also be the data that is scaled."""

    blocks: Dependence
    """Data that no reduction lies before."""
    statistics: Dependence
    data: Dependence
    """All data, reduced or not."""


class _Reading:
    """One function, its blocks and what was reduced from them."""

    def __init__(self, function: JitFunction, source: KernelSource) -> None:
        self.function, self.source = function, source
        self.loads = load_calls(function, source)
        self.reductions = reduction_calls(function, source)
        self.totals = accumulators(function, source)
        called = function.name in {name for other in source.jit_functions for name in other.callees}
        given = function.node.args.args if called else []
        self.given = {a.arg: a for a in given if a.arg not in function.constexprs}

    def scales(self) -> bool:
        if not self.reductions and not self.totals:
            return False
        flow, stops = self.function.flow, {*self.loads, *self.reductions}
        logs = [call.node for call in self.function.calls_of(*LOGARITHMS)]
        self.logarithms = Dependence(flow, logs, self.loads)
        nothing = dict.fromkeys(self.totals, _NOTHING)
        self.views = [
            _View(
                Dependence(flow, self.loads, stops, {**nothing, **self.given}),
                Dependence(flow, self.reductions, self.loads, self.totals),
                Dependence(flow, self.loads, self.loads, self.given),
            ),
            _View(
                Dependence(flow, self.loads, stops, {**self.totals, **self.given}),
                Dependence(flow, self.reductions, self.loads),
                Dependence(flow, self.loads, self.loads, {**self.totals, **self.given}),
            ),
        ]
        pairs = [(node, scale) for node, block, scale in self._pairs() if self._is_scaled(block, scale)]
        return self._reaches_result(pairs)

    def _reaches_result(self, scaled: list[tuple[ast.AST, ast.expr]]) -> bool:
        """As it is; or reduced again after it was divided by a deviation or a length. A loss does not count."""
        flow, results = self.function.flow, stored_values(self.function)
        roots = Dependence(flow, [call.node for call in self.function.calls_of(*ROOTS)], self.loads)
        kept = Dependence(flow, [node for node, _ in scaled], {*self.loads, *self.reductions})
        reduced = Dependence(flow, [node for node, scale in scaled if roots.behind(scale)], self.loads)
        return any(kept.behind(result) or reduced.behind(result) for result in results)

    def _pairs(self) -> Iterator[tuple[ast.AST, ast.expr, ast.expr]]:
        """Each product, quotient and difference: the node, what may be the block and what may scale it."""
        building = [node for total in self.totals.values() for node in self.function.flow.syntax.inside(total)]
        own = set(building)
        for node in self.function.nodes:
            if node in own:
                continue
            found = operands(node)
            if found is not None and isinstance(found.op, (ast.Div, ast.Mult, ast.Sub)):
                yield node, found.left, found.right
                if isinstance(found.op, ast.Mult):
                    yield node, found.right, found.left
        for call in self.function.calls_of(*DIVISIONS):
            if len(call.node.args) >= 2:
                yield call.node, call.node.args[0], call.node.args[1]

    def _is_scaled(self, block: ast.expr, scale: ast.expr) -> bool:
        parent = self.function.flow.syntax.parents.get(block)
        subtracted = isinstance(parent, (ast.BinOp, ast.AugAssign)) and isinstance(parent.op, ast.Sub)
        if subtracted and not self.logarithms.behind(scale):
            return False
        return any(self._scales_in(view, block, scale) for view in self.views)

    def _scales_in(self, view: _View, block: ast.expr, scale: ast.expr) -> bool:
        statistic = view.statistics.behind(scale)
        data = view.blocks.behind(block) - {_NOTHING}
        if not statistic or not data:
            return False
        beside = self._sources(view.blocks.behind(scale) - {_NOTHING})
        reduced, scaled = self._sources(view.data.behind(*statistic)), self._sources(data)
        return not beside & scaled and (bool(scaled & reduced) or not reduced)

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
