"""Python loops that start kernels on the way, however many calls lie between, and what they run through.

A loop through time picks step after step out of the data and hands a state from one step to the next. A loop
over layers carries something, too, but what it picks belongs to the module. A loop over items (images, rows,
channels) carries nothing: one launch could do them all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from tilesmith.lint.model.device.operations import literal_int
from tilesmith.lint.model.sizes.possible_numbers import host_numbers
from tilesmith.lint.model.source import HostCode, HostLoop, KernelSource, cached_per_source
from tilesmith.lint.model.syntax.call_arguments import all_arguments
from tilesmith.lint.model.syntax.flow import read_flow, target_names
from tilesmith.lint.model.syntax.tree import SyntaxTree
from tilesmith.lint.structure.host_code.host_calls import HostCalls, host_calls
from tilesmith.lint.structure.host_code.value_origins import TENSOR_ATTRIBUTES, HostValues, ValueOrigin
from tilesmith.lint.structure.host_loops.carried_state import carries_state

WRAPPERS = frozenset({"enumerate", "zip", "reversed", "list", "tuple", "iter", "tqdm"})
COUNTERS = frozenset({"range", "trange"})
CHUNKING = frozenset({"split", "chunk", "tensor_split"})
COMPUTED = (
    ast.JoinedStr,
    ast.FormattedValue,
    ast.BinOp,
    ast.UnaryOp,
    ast.IfExp,
    ast.Compare,
    ast.Name,
    ast.Constant,
)
"""What an index may be made into and still be an index."""
Comprehension = ast.ListComp | ast.GeneratorExp


class LoopHead:
    def __init__(self, node: HostLoop | Comprehension, syntax: SyntaxTree) -> None:
        self.node, self.syntax = node, syntax

    @property
    def body(self) -> list[ast.AST]:
        return [self.node.elt] if isinstance(self.node, (ast.ListComp, ast.GeneratorExp)) else [*self.node.body]

    @cached_property
    def iterated(self) -> list[ast.expr]:
        """What it runs over, without `enumerate`, `zip` and the like, and without counters."""
        return [value for value in self._unwrapped if not _is_counter(value)]

    @cached_property
    def _unwrapped(self) -> list[ast.expr]:
        if isinstance(self.node, ast.While):
            return []
        given = [self.node.iter] if isinstance(self.node, ast.For) else [g.iter for g in self.node.generators]
        found = []
        while given:
            value = given.pop()
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in WRAPPERS:
                given += value.args
            else:
                found.append(value)
        return found

    @cached_property
    def counts(self) -> list[ast.expr]:
        """The ends of `range(...)`, or the test of a `while`."""
        if isinstance(self.node, ast.While):
            return [self.node.test]
        return [argument for call in self._counters for argument in call.args[:2]]

    @property
    def _counters(self) -> list[ast.Call]:
        return [value for value in self._unwrapped if isinstance(value, ast.Call) and _is_counter(value)]

    @cached_property
    def indices(self) -> frozenset[str]:
        """The loop's variables, what a `while` counts up, and what is computed from these alone: `T - 1 - t`."""
        if isinstance(self.node, (ast.ListComp, ast.GeneratorExp)):
            return frozenset(name for g in self.node.generators for name in target_names(g.target))
        bindings = read_flow(self.syntax, self.node.body).bindings
        if isinstance(self.node, ast.While):
            found = {binding.name for binding in bindings} & self.syntax.names(self.node.test)
        else:
            found = set(target_names(self.node.target))
        for binding in bindings:
            parts = self.syntax.inside(binding.value)
            if self.syntax.names(binding.value) & found and all(isinstance(part, COMPUTED) for part in parts):
                found.add(binding.name)
        return frozenset(found)

    @property
    def takes_chunks(self) -> bool:
        """`x.split(64)`, `range(0, n, chunk)`: fewer turns than elements."""
        calls = [value for value in self._unwrapped if isinstance(value, ast.Call)]
        chunked = [c for c in calls if isinstance(c.func, ast.Attribute) and c.func.attr in CHUNKING]
        steps = [call.args[2] for call in self._counters if len(call.args) == 3]
        return bool(chunked) or any(literal_int(step) not in (1, -1) for step in steps)


def _is_counter(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in COUNTERS


DEEPEST_CALL = 2


def picks_members(
    body: Sequence[ast.AST],
    indices: frozenset[str],
    host: HostCode,
    values: HostValues,
    depth: int = DEEPEST_CALL,
) -> bool:
    """`self.weights[i]` or `getattr(self, f"w{i}")`, here or in a function the index is passed to."""
    syntax = values.source.syntax
    for node in syntax.inside(*body):
        match node:
            case ast.Subscript() if syntax.names(node.slice) & indices and values.is_member(node.value, host):
                return True
            case ast.Call(func=ast.Name(id="getattr"), args=[_, name, *_]) if syntax.names(name) & indices:
                return True
            case ast.Call() if depth and _passes_on(node, indices, host, values, depth - 1):
                return True
    return False


def _passes_on(call: ast.Call, indices: frozenset[str], host: HostCode, values: HostValues, depth: int) -> bool:
    for callee in values.calls.callees(call, host):
        passed = values.calls.passed(call, callee) or {}
        names = {name for name, value in passed.items() if isinstance(value, ast.Name) and value.id in indices}
        if names and picks_members(callee.node.body, frozenset(names), callee, values, depth):
            return True
    return False


FEW_TURNS = 4
"""A loop over so few things is not worth a grid axis."""
PICKING = frozenset({"select", "narrow", "index_select"})


class LoopPurpose(Enum):
    STEPS = "steps"
    """Through time: a state goes from turn to turn."""
    ITEMS = "items"
    """Over independent parts of the data, as many as there are."""
    OTHER = "other"
    """Over layers, parameters, levels, a fixed number of rounds."""


@dataclass(frozen=True)
class LaunchLoop:
    """A host loop with a launch inside."""

    line: int
    node: HostLoop | Comprehension
    host: HostCode
    purpose: LoopPurpose


@cached_per_source
def find_launch_loops(source: KernelSource) -> tuple[LaunchLoop, ...]:
    """Each loop once, in source order; only loops that live code reaches."""
    if not source.launches:
        return ()
    calls = host_calls(source)
    values = HostValues(source, calls)
    found = []
    for host in source.live_hosts:
        if host.node in calls.launching:
            for node in source.syntax.of_type(ast.AST, *host.node.body):
                if isinstance(node, (ast.For, ast.While, ast.ListComp, ast.GeneratorExp)):
                    loop = _LoopPurposeFinder(node, host, calls, values)
                    if loop.starts_kernel():
                        found.append(LaunchLoop(node.lineno, node, host, _purpose(loop)))
    return tuple(sorted(found, key=lambda loop: loop.line))


def _purpose(loop: _LoopPurposeFinder) -> LoopPurpose:
    """A chain of names too long to follow says nothing."""
    try:
        return loop.purpose()
    except RecursionError:
        return LoopPurpose.OTHER


def find_time_loops(source: KernelSource) -> tuple[LaunchLoop, ...]:
    return tuple(loop for loop in find_launch_loops(source) if loop.purpose is LoopPurpose.STEPS)


class _LoopPurposeFinder:
    """One loop while its purpose is being found out."""

    def __init__(
        self, node: HostLoop | Comprehension, host: HostCode, calls: HostCalls, values: HostValues
    ) -> None:
        self.node, self.host, self.calls, self.values = node, host, calls, values
        self.source = values.source
        self.head = LoopHead(node, values.source.syntax)

    def starts_kernel(self) -> bool:
        return bool(self.calls.launching_calls(self.host, *self.head.body))

    def purpose(self) -> LoopPurpose:
        if self._picks_members():
            return LoopPurpose.OTHER
        if (self._picks_data() or self._passes_number()) and self._carries_state():
            return LoopPurpose.STEPS
        if self.head.takes_chunks or self._has_few_turns():
            return LoopPurpose.OTHER
        return LoopPurpose.ITEMS if self._is_data_sized() else LoopPurpose.OTHER

    def _carries_state(self) -> bool:
        if not isinstance(self.node, (ast.For, ast.While)):
            return False
        return carries_state(self.node.body, self.head.indices, self.host, self.source, self.calls)

    def _picks_members(self) -> bool:
        """`self.weights[i]`, `getattr(self, f"w{i}")`, `for layer in self.layers`, or in a function called."""
        if any(self.values.is_member(value, self.host) for value in self.head.iterated):
            return True
        return picks_members(self.head.body, self.head.indices, self.host, self.values)

    def _picks_data(self) -> bool:
        """Something of the data in each turn, and nothing out of a list that may hold weights."""
        if any(self._is_data(value) for value in self.head.iterated):
            return True
        picked = list(self._picked())
        return bool(picked) and all(self._is_data(base) or not alone for base, alone in picked)

    def _picked(self) -> Iterator[tuple[ast.expr, bool]]:
        """What the index picks from, and whether it does so alone, as in `x[t]` but not in `x[:, t]`."""
        syntax = self.source.syntax
        for node in syntax.inside(*self.head.body):
            match node:
                case ast.Subscript(ctx=ast.Load()) if syntax.names(node.slice) & self.head.indices:
                    yield node.value, not isinstance(node.slice, ast.Tuple)
                case ast.Call(func=ast.Attribute(attr=name, value=base)) if name in PICKING:
                    if syntax.names(*node.args) & self.head.indices:
                        yield base, False

    def _picks_single(self) -> bool:
        """`x[:, i]` of the data, with the index alone in its place; not `x[i * 8 : i * 8 + 8]`."""
        syntax = self.source.syntax
        for node in syntax.of_type(ast.Subscript, *self.head.body):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            single = [part for part in parts if isinstance(part, ast.Name) and part.id in self.head.indices]
            if single and isinstance(node.ctx, ast.Load) and self.values.is_tensor(node.value, self.host):
                return self._picks_data()
        return False

    def _is_data(self, value: ast.expr) -> bool:
        """A tensor; the model's own inputs count even where nothing shows that they are."""
        roots = self.values.roots(value, self.host)
        attribute = isinstance(value, ast.Attribute) and value.attr not in TENSOR_ATTRIBUTES
        if attribute or not roots & {ValueOrigin.INPUT, ValueOrigin.MADE}:
            return False
        return self.values.is_tensor(value, self.host) or (
            self.source.has_model_class and ValueOrigin.INPUT in roots
        )

    def _passes_number(self) -> bool:
        """The number of the step itself goes to a launch, and there are as many steps as data."""
        if not any(self.values.is_dimension(count, self.host) for count in self.head.counts):
            return False
        launches = self.calls.launching_calls(self.host, *self.head.body)
        passed = [argument for call in launches for argument in all_arguments(call)]
        plain = [argument for argument in passed if isinstance(argument, (ast.Name, ast.BinOp))]
        return any(self.source.syntax.names(argument) & self.head.indices for argument in plain)

    def _has_few_turns(self) -> bool:
        if isinstance(self.node, ast.While) or self.head.iterated or not self.head.counts:
            return False
        turns = host_numbers(self.source, self.host, self.head.counts[-1])
        return turns is not None and max(turns) <= FEW_TURNS

    def _is_data_sized(self) -> bool:
        """As many turns as a tensor has elements along an axis, or one for each of them."""
        if self.source.has_model_class and self._picks_single():
            return True
        tensors = [value for value in self.head.iterated if self.values.is_tensor(value, self.host)]
        if any(self._is_data(value) for value in tensors):
            return True
        return any(self.values.is_dimension(count, self.host) for count in self.head.counts)
