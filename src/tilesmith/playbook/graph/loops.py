"""Loops over the steps of a sequence: a trace has every step, and this finds the one that all of them are.

What `forward` writes as a loop (`state = decay[:, t] * state + x[:, t]`, results joined by `stack`) is traced as
many times the same operators. Where they are the same but for the place of what they select, and for the state that
each takes from the step before, one step and a loop around it say as much, for any number of steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tilesmith.playbook.graph.operators import PARTED, is_inplace, operator_name
from tilesmith.playbook.graph.reductions import find_argument
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.tasks.graph import GETITEM, Graph, Node, reference, references

STATE, SELECT, JOIN = "aten.alias.loop_state", "aten.select.loop_place", "aten.alias.loop_join"
"""Operators of a graph in which one step stands for all: what the step before gave (which takes what the first one
is given), a slice at the place of the step along a dimension, the results of all steps along a new dimension."""
LEAST_STEPS = 4


@dataclass(frozen=True)
class Loop:
    """A loop in a graph, and the graph with one step of it."""

    rolled: Graph
    names: frozenset[str]
    """Of the nodes in the whole graph that are steps, or join their results."""
    steps: int
    is_backward: bool
    """Whether it begins at the last place."""
    states: tuple[tuple[str, str], ...]
    """What a step takes and what it gives to the next, as nodes of the rolled graph."""
    last: dict[str, str]
    """Results of the last step that others need, and the states of the rolled graph that they are."""
    is_written: bool = True
    """Whether `forward` has the loop; else it has a running sum, which is no gain step by step."""


def find_loops(graph: Graph) -> Iterator[Loop]:
    """Those of a graph that one step stands for, each with the rest of the graph as it is."""
    nodes = {node.name: node for node in graph.nodes}
    known: set[str] = set()
    for join in graph.nodes:
        pieces = _pieces(join, nodes) if join.name not in known else []
        for is_backward in (False, True) if pieces else ():
            found = _Finder(graph, nodes, pieces[::-1] if is_backward else pieces, is_backward).found()
            if found is not None:
                known |= found.names
                yield found
                break


def _pieces(join: Node, nodes: dict[str, Node]) -> list[str]:
    """What a node puts side by side along a dimension, one place each."""
    kind = operator_name(join)
    if kind not in ("stack", "cat", "concat", "concatenate") or not isinstance(join.args[0], list):
        return []
    names = [str(reference(one)) for one in join.args[0]]
    if len(set(names)) < max(len(names), LEAST_STEPS) or not {*names} <= nodes.keys():
        return []
    dim = find_argument(join, 1, "dim", 0)
    is_one = kind == "stack" or all((nodes[name].shape or (0,))[dim] == 1 for name in names)
    return names if is_one else []


class _Finder:
    """Compares every step with the second one, which is the first that takes a state from another."""

    def __init__(self, graph: Graph, nodes: dict[str, Node], pieces: Sequence[str], is_backward: bool) -> None:
        self._graph, self._nodes, self._pieces, self._is_backward = graph, nodes, pieces, is_backward
        self._count = len(pieces)
        place = {name: i for i, name in enumerate(nodes)}
        seen = self._above(pieces[0], set())
        self._own: list[list[str]] = [[]]
        """The nodes of every step, those that do the same at the same position."""
        for piece in pieces[1:]:
            new = self._above(piece, seen)
            seen |= new
            self._own.append(sorted(new, key=place.__getitem__))
        self._body = self._own[1]
        self._position = {name: i for i, name in enumerate(self._body)}
        self._first: dict[int, str] = {}
        """By position in the body: the node of the first step."""
        self._given: dict[str, str] = {}
        """What the first step takes for a state, by the node of the first step that the second one takes."""

    def _above(self, name: str, seen: set[str]) -> set[str]:
        found: set[str] = set()
        waiting = [name]
        while waiting:
            one = waiting.pop()
            if one in self._nodes and one not in seen and one not in found:
                found.add(one)
                waiting += references([self._nodes[one].args, self._nodes[one].kwargs])
        return found

    def found(self) -> Loop | None:
        if self._pieces[1] not in self._position or any(len(own) != len(self._body) for own in self._own[1:]):
            return None
        if any(self._nodes[name].shape is None or is_inplace(self._nodes[name]) for name in self._body):
            return None
        if not self._is_first(self._pieces[0], self._pieces[1]) or len(self._first) != len(self._body):
            return None
        self._own[0] = [self._first[i] for i in range(len(self._body))]
        if not all(self._is_alike(i) for i in range(1, self._count)):
            return None
        joins, states = self._joins(), self._states()
        names = {name for own in self._own for name in own} | joins.keys()
        last = self._last(names, states)
        if last is None:
            return None
        try:
            rolled = self._rolled(joins, states, names, last)
        except Unmatched:
            return None
        return Loop(rolled, frozenset(names), self._count, self._is_backward, tuple(states.items()), last)

    def _last(self, names: set[str], states: dict[str, str]) -> dict[str, str] | None:
        """What others need of the last step, as nodes of the body; None where they need something else."""
        outside = [[node.args, node.kwargs] for node in self._graph.nodes if node.name not in names]
        others = set(references([self._graph.outputs, list(self._graph.assigned.values()), outside]))
        last = {name: self._body[i] for i, name in enumerate(self._own[-1]) if self._body[i] in states.values()}
        needed = others & {name for own in self._own for name in own}
        return {name: last[name] for name in needed} if needed <= last.keys() else None

    def _place(self, step: int) -> int:
        return self._count - 1 - step if self._is_backward else step

    def _is_first(self, name: str, second: str) -> bool:
        """Whether a node of the first step is what another is of the second."""
        position = self._position[second]
        if position in self._first:
            return self._first[position] == name
        if name not in self._nodes or (pairs := self._arguments(name, second, 0)) is None:
            return False
        self._first[position] = name
        for a, b in pairs:
            if b in self._position:
                if not self._is_first(a, b):
                    return False
            elif a != b and self._given.setdefault(b, a) != a:  # a state: the one that the first step is given
                return False
        return True

    def _is_alike(self, step: int) -> bool:
        """Whether a step is the second one, at another place and with the state of the step before."""
        before, own = self._own[step - 1], self._own[step]
        carried = {name: i for i, name in enumerate(self._own[0])}
        for name, mine in zip(self._body, own, strict=True):
            pairs = self._arguments(mine, name, step)
            if pairs is None:
                return False
            for a, b in pairs:
                wanted = (
                    own[self._position[b]] if b in self._position else before[carried[b]] if b in carried else b
                )
                if a != wanted:
                    return False
        return self._pieces[step] == own[self._position[self._pieces[1]]] and self._given.keys() <= carried.keys()

    def _arguments(self, name: str, second: str, step: int) -> list[tuple[str, str]] | None:
        """What a node of a step and the one of the second refer to, in pairs; None where they differ otherwise."""
        one, other = self._nodes[name], self._nodes[second]
        third = list(_leaves_of(self._nodes[self._own[2][self._position[second]]]))
        mine, theirs = list(_leaves_of(one)), list(_leaves_of(other))
        if (one.op, one.shape, one.dtype) != (other.op, other.shape, other.dtype):
            return None
        if not len(mine) == len(theirs) == len(third):
            return None
        pairs: list[tuple[str, str]] = []
        for a, b, next_one in zip(mine, theirs, third, strict=True):
            first, known = reference(a), reference(b)
            if first is not None and known is not None:
                pairs.append((first, known))
            elif first is not None or known is not None or type(a) is not type(b):
                return None
            elif a != (b if b == next_one else b + self._place(step) - self._place(1)):
                return None  # neither the same at all steps nor the place of the step
        return pairs

    def _states(self) -> dict[str, str]:
        """What the second step takes from the first, and what it gives for it."""
        return {self._own[0][i]: name for i, name in enumerate(self._body) if self._own[0][i] in self._given}

    def _joins(self) -> dict[str, str]:
        """All nodes that join the same result of every step, and that result."""
        found: dict[str, str] = {}
        for join in self._graph.nodes:
            pieces = _pieces(join, self._nodes)
            pieces = pieces[::-1] if self._is_backward else pieces
            if len(pieces) == self._count and pieces[1] in self._position:
                position = self._position[pieces[1]]
                if pieces == [own[position] for own in self._own]:
                    found[join.name] = pieces[1]
        return found

    def _rolled(
        self, joins: dict[str, str], states: dict[str, str], names: set[str], last: dict[str, str]
    ) -> Graph:
        nodes: list[Node] = []
        for state in states:
            given = {"node": self._given[state]}
            nodes.append(replace(self._nodes[state], op=STATE, args=(given,), kwargs={}))
        nodes += [self._stepwise(self._nodes[name]) for name in self._body]
        nodes += [self._joined(self._nodes[name], piece) for name, piece in joins.items()]
        nodes += [node for node in self._graph.nodes if node.name not in names]
        ordered = _ordered(nodes, {leaf.name for leaf in self._graph.leaves})
        return replace(self._graph, nodes=ordered, outputs=_renamed(self._graph.outputs, last))

    def _stepwise(self, node: Node) -> Node:
        """A node of the second step, with a slice at the step's place where it selects one."""
        here = self._place(1)
        if node.op == GETITEM:
            source = self._nodes.get(str(reference(node.args[0])))
            if source is None or operator_name(source) != "unbind" or node.args[1] != here:
                raise Unmatched("takes one of several results in a loop")
            dim = find_argument(source, 1, "dim", 0)
            return replace(node, op=SELECT, args=(source.args[0], dim, "step", False))
        kind = operator_name(node)
        if kind == "select" and node.args[2] == here and self._differs(node):
            return replace(node, op=SELECT, args=(*node.args[:2], "step", False))
        if kind == "slice" and node.args[2:4] == (here, here + 1) and self._differs(node):
            return replace(node, op=SELECT, args=(*node.args[:2], "step", True))
        if kind in PARTED or self._differs(node):
            raise Unmatched("does something else at every step")
        return node

    def _differs(self, node: Node) -> bool:
        """Whether the plain arguments are others at the third step."""
        third = self._nodes[self._own[2][self._position[node.name]]]
        pairs = zip(_leaves_of(node), _leaves_of(third), strict=True)
        return any(a != b for a, b in pairs if reference(a) is None)

    def _joined(self, node: Node, piece: str) -> Node:
        dim = find_argument(node, 1, "dim", 0) % len(node.shape or ())
        return replace(node, op=JOIN, args=({"node": piece}, dim, operator_name(node) != "stack"), kwargs={})


def _leaves_of(node: Node) -> Iterator[Any]:
    """Plain values and references among the arguments, in order."""
    waiting: list[Any] = [node.args, *sorted(node.kwargs.items())]
    while waiting:
        value = waiting.pop(0)
        if reference(value) is None and isinstance(value, list | tuple):
            waiting = [len(value), *value, *waiting]
        else:
            yield value


def _renamed(outputs: Any, names: dict[str, str]) -> Any:
    if (name := reference(outputs)) is not None:
        return {"node": names.get(name, name)}
    if isinstance(outputs, dict):
        return {key: _renamed(one, names) for key, one in outputs.items()}
    return [_renamed(one, names) for one in outputs] if isinstance(outputs, list) else outputs


def _ordered(nodes: Sequence[Node], known: set[str]) -> tuple[Node, ...]:
    """Every node after what it needs."""
    waiting, found = list(nodes), list[Node]()
    while waiting:
        ready = [one for one in waiting if set(references([one.args, one.kwargs])) <= known]
        if not ready:
            raise Unmatched("has a loop whose steps need one another")
        found += ready
        known = known | {one.name for one in ready}
        waiting = [one for one in waiting if one.name not in known]
    return tuple(found)
