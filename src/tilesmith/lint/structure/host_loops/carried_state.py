"""Does a Python loop hand what one turn computed to the kernels of the next?

One turn is followed in the order of its statements. Names and slots of buffers (`out[t]`) are places; each
write makes a new version of a place from the versions it reads. A place carries a state when a launch reads
what the turn before left there, and what that launch writes is what this turn leaves.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tilesmith.lint.model.source import HostCode, JitFunction, KernelSource, LaunchSite
from tilesmith.lint.model.syntax.call_arguments import all_arguments
from tilesmith.lint.model.syntax.tree import SyntaxTree
from tilesmith.lint.structure.addresses.buffers import accesses, loads_from, stores_to
from tilesmith.lint.structure.host_code.host_calls import HostCalls
from tilesmith.lint.structure.host_code.value_origins import SIZE_ATTRIBUTES, creates_tensor
from tilesmith.lint.vocabulary import LOADS, STORES

NO_CONTENT = SIZE_ATTRIBUTES | {"dtype", "device", "stride", "dim", "ndim"}


class StorageSlot(NamedTuple):
    name: str
    slot: str
    """Which part, where the loop's index picks one."""


class StorageSlots:
    def __init__(self, indices: frozenset[str], host: HostCode, syntax: SyntaxTree) -> None:
        self.indices, self.syntax = indices, syntax
        first = [argument.arg for argument in host.node.args.args[:1]]
        self.module = set(first) if host.owner is not None else set()
        """The module itself: its attributes are places of their own."""

    def of(self, node: ast.AST) -> list[StorageSlot]:
        """What an expression that can be written to, or handed to a kernel, stands for."""
        match node:
            case ast.Name(id=name):
                return [StorageSlot(name, "")]
            case ast.Subscript(value=ast.Name(id=name)) if self.syntax.names(node.slice) & self.indices:
                return [StorageSlot(name, ast.unparse(node.slice))]
            case ast.Subscript() | ast.Starred():
                return self.of(node.value)
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                return [StorageSlot(f"{owner}.{name}" if owner in self.module else owner, "")]
            case ast.Tuple() | ast.List():
                return [place for part in node.elts for place in self.of(part)]
            case ast.Call(func=ast.Attribute(value=base)):
                return self.of(base)
        return []

    def read(self, value: ast.AST) -> set[StorageSlot]:
        """Places whose content an expression uses; asking a tensor for its shape uses nothing of it."""
        found: set[StorageSlot] = set()
        waiting: list[ast.AST] = [value]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Attribute) and node.attr in NO_CONTENT:
                continue
            if isinstance(node, ast.Call) and creates_tensor(node):
                continue
            places = self.of(node) if isinstance(node, (ast.Name, ast.Subscript, ast.Attribute)) else []
            found.update(places)
            if not places:
                waiting += ast.iter_child_nodes(node)
        return found


def is_shifted(one: str, other: str) -> bool:
    """Slots that differ by arithmetic on the index, as `t` and `t - 1` do; the whole has all its slots."""
    return one != other and (not one or any(sign in slot for slot in (one, other) for sign in (" + ", " - ")))


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


CHANGING = frozenset({"append", "extend", "insert"})


class SlotVersion(NamedTuple):
    place: StorageSlot
    number: int
    """Zero is what the turn before left."""


def carries_state(
    body: list[ast.stmt], indices: frozenset[str], host: HostCode, source: KernelSource, calls: HostCalls
) -> bool:
    """`indices` are the names the loop itself sets in each turn."""
    turn = _HostLoopTurn(indices, host, source, calls)
    turn.follow(body)
    return turn.feeds_itself() or any(_keeps_member(callee, source, calls) for callee in turn.methods)


def _keeps_member(method: HostCode, source: KernelSource, calls: HostCalls) -> bool:
    """A method that leaves its state in the module: `self.h = step(x, self.h)`."""
    turn = _HostLoopTurn(frozenset(), method, source, calls)
    turn.follow(method.node.body)
    return turn.feeds_itself(members_only=True)


class _HostLoopTurn:
    def __init__(self, indices: frozenset[str], host: HostCode, source: KernelSource, calls: HostCalls) -> None:
        self.indices, self.host, self.source, self.calls = indices, host, source, calls
        self.places = StorageSlots(indices, host, source.syntax)
        self.latest: dict[StorageSlot, int] = defaultdict(int)
        self.made_of: dict[SlotVersion, set[SlotVersion]] = defaultdict(set)
        self.launched: list[tuple[SlotVersion, SlotVersion]] = []
        """Written and read by the same launch, or by a call that leads to one."""
        self.methods: list[HostCode] = []
        """Of the module, that the turn calls and that start kernels."""

    def follow(self, body: Iterable[ast.stmt], certain: bool = True) -> None:
        for statement in body:
            match statement:
                case ast.If() | ast.Try():
                    parts = [statement.body, statement.orelse, getattr(statement, "finalbody", [])]
                    for part in parts:
                        self.follow(part, certain=False)
                case ast.For() | ast.While():
                    self.follow(statement.body, certain=False)
                case ast.With():
                    self.follow(statement.body, certain)
                case _:
                    self.statement(statement, certain)

    def statement(self, statement: ast.stmt, certain: bool) -> None:
        launching = self.calls.launching_calls(self.host, statement)
        for call in launching:
            self.call(call, certain)
        match statement:
            case ast.Assign(value=ast.expr() as value):
                pairs = [pair for target in statement.targets for pair in _pairs(target, value)]
                fed = [(target, self.reads(part), self.fed(part)) for target, part in pairs]
                for target, reads, passed in fed:
                    self.write(target, reads, passed, certain)
            case ast.AnnAssign(value=ast.expr() as value):
                self.write(statement.target, self.reads(value), self.fed(value), certain)
            case ast.AugAssign():
                self.write(statement.target, self.reads(statement.value), self.fed(statement.value), certain=False)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=base, attr=name)) as call) if _changes(name):
                given = ast.Tuple(all_arguments(call), ast.Load())
                self.write(base, self.reads(given), self.fed(*all_arguments(call)), certain=False)

    def fed(self, *values: ast.AST) -> set[SlotVersion]:
        """What the launching calls inside some expressions get."""
        calls = self.calls.launching_calls(self.host, *values) if values else []
        return set().union(*(self.reads(argument) for call in calls for argument in all_arguments(call)))

    def call(self, call: ast.Call, certain: bool) -> None:
        """Buffers that a launch fills, directly or in a function it is left to."""
        if call in self.calls.launches:
            found = launch_effects(self.source, self.calls.launches[call])
            own = self.same_parts(self.calls.launches[call])
        else:
            self.methods += [callee for callee in self.calls.callees(call, self.host) if callee.owner is not None]
            found, own = effects_of(self.source, self.calls, call, self.host), frozenset()
        reads = {name: self.reads(value) for name, value in found.passed.items() if name in found.read}
        for name in found.written:
            fed = set().union(*(versions for other, versions in reads.items() if other != name or name not in own))
            whole = certain and name not in found.read
            self.write(found.passed[name], fed, fed, whole)

    def same_parts(self, launch: LaunchSite) -> frozenset[str]:
        """Parameters of which a launch changes, in place, only the part that the step's number picks."""
        found = set()
        for kernel in [k for name in launch.kernels for k in self.source.jit_named(name)[-1:]]:
            bound = launch.bound_to(kernel) or {}
            steps = {p for p, value in bound.items() if self.source.syntax.names(value) & self.indices}
            both = loads_from(self.source, kernel) & stores_to(self.source, kernel)
            found |= {name for name in both if _moves(kernel, name, steps)}
        return frozenset(found)

    def write(self, target: ast.expr, reads: set[SlotVersion], fed: set[SlotVersion], certain: bool) -> None:
        for place in self.places.of(target):
            old = SlotVersion(place, self.latest[place])
            self.latest[place] += 1
            new = SlotVersion(place, self.latest[place])
            self.made_of[new] |= reads if certain else {*reads, old}
            self.launched += [(new, version) for version in fed]

    def reads(self, value: ast.AST) -> set[SlotVersion]:
        return {SlotVersion(place, self.latest[place]) for place in self.places.read(value)}

    def feeds_itself(self, members_only: bool = False) -> bool:
        for place in [place for place in self.latest if "." in place.name or not members_only]:
            for left in self._left_for(place):
                for written, read in self.launched:
                    if SlotVersion(place, 0) in self._behind(read) and written in self._behind(left):
                        return True
        return False

    def _left_for(self, place: StorageSlot) -> list[SlotVersion]:
        """What a turn finds in a place is what the turn before left there: `path[i - 1]` is its `path[i]`."""
        if place.name in self.indices:
            return []
        if not place.slot:
            same = [p for p in self.latest if p.name == place.name]
        else:
            same = [p for p in self.latest if p.name == place.name and is_shifted(p.slot, place.slot)]
        return [SlotVersion(p, self.latest[p]) for p in same if self.latest[p]]

    def _behind(self, version: SlotVersion) -> set[SlotVersion]:
        seen = {version}
        waiting = [version]
        while waiting:
            for source in self.made_of.get(waiting.pop(), ()):
                if source not in seen:
                    seen.add(source)
                    waiting.append(source)
        return seen


def _moves(kernel: JitFunction, name: str, steps: set[str]) -> bool:
    addresses = [a for kind in (LOADS, STORES) for found, a in accesses(kernel, kind) if found == name]
    return bool(addresses) and all(kernel.flow.origins(address) & steps for address in addresses)


def _changes(method: str) -> bool:
    """`outputs.append(h)`, `h.copy_(new)`."""
    return method in CHANGING or (method.endswith("_") and not method.startswith("_"))


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]
