"""What a forward pass does beside computing its results: it writes into tensors and draws random numbers.

In-place operators on values of the pass itself become plain ones where nobody can tell. All others stay PyTorch's,
between whoever uses the same memory before and after them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from tilesmith.playbook.graph.operators import ALIASES, COPIES, POINTWISE, VIEWS, is_inplace, operator_name
from tilesmith.tasks.graph import Graph, Node, reference, references

ENTER, EXIT = "_enter_autocast", "_exit_autocast"
"""Between these two, the types that operators compute in are not those of their operands."""


@dataclass(frozen=True)
class OrderedGraph:
    """A graph whose nodes may be moved as long as `before` is kept."""

    graph: Graph
    before: dict[str, frozenset[str]]
    """For each node those that must come earlier: its operands, and whatever its effects ask for."""
    effects: frozenset[str]
    """Nodes that PyTorch runs: they do more than give a result, or name memory that is written into."""


def order(graph: Graph) -> OrderedGraph:
    """The graph with in-place operators made plain where nobody can tell, without what nobody needs."""
    graph = _with_copies(_needed(_made_plain(graph)))
    names = {node.name for node in graph.nodes}
    random = [name for name in graph.random if name in names]
    before = {node.name: set(references([node.args, node.kwargs])) & names for node in graph.nodes}
    _keep_order(before, random)
    written = {_owner(graph, name) for targets in graph.writes.values() for name in targets}
    _keep_writes(graph, before, written)
    inside = _in_autocast(graph.nodes)
    _keep_blocks(before, inside)
    sharing = {name for name, owner in graph.memory.items() if owner in written}
    effects = (set(graph.writes) | set(random) | inside | sharing) & names
    return OrderedGraph(graph, {name: frozenset(earlier) for name, earlier in before.items()}, frozenset(effects))


def has_autocast(graph: Graph) -> bool:
    return any(node.op == ENTER for node in graph.nodes)


def reads_what_it_writes(graph: Graph) -> bool:
    """Whether some memory has one value at one time of the pass and another at another."""
    written = {_owner(graph, name) for targets in graph.writes.values() for name in targets}
    readers = (node for node in graph.nodes if node.name not in graph.writes)
    return any(_owner(graph, name) in written for node in readers for name in references([node.args, node.kwargs]))


def find_written_inputs(graph: Graph) -> list[str]:
    """The inputs that the pass changes, which the judge allows no kernel to do."""
    written = {_owner(graph, name) for targets in graph.writes.values() for name in targets}
    return [one.expression for one in graph.inputs if one.name in written]


def can_be_repeated(graph: Graph) -> bool:
    """Whether a pass leaves no trace and gives nothing away that it was given: another one does the same again."""
    written = {_owner(graph, name) for targets in graph.writes.values() for name in targets}
    results = {_owner(graph, name) for name in references(graph.outputs)}
    outer = {leaf.name for leaf in graph.leaves}
    return not (graph.random or graph.assigned or (written | results) & outer)


def _owner(graph: Graph, name: str) -> str:
    """The value whose memory it is in."""
    return graph.memory.get(name, name)


def _made_plain(graph: Graph) -> Graph:
    values = {one.name: one for one in (*graph.leaves, *graph.nodes)}
    leaves = {leaf.name for leaf in graph.leaves}
    inside = _in_autocast(graph.nodes)
    renamed: dict[str, str] = {}
    moved: dict[str, str] = {}
    """Memory that got a new owner when an operator in place became a plain one."""
    memory, writes = dict(graph.memory), dict(graph.writes)
    nodes: list[Node] = []
    for position, node in enumerate(graph.nodes):
        if node.name in memory:
            memory[node.name] = moved.get(memory[node.name], memory[node.name])
        target = reference(node.args[0]) if is_inplace(node) and node.args else None
        if target is not None and node.name in writes and node.name not in inside:
            owner = graph.memory.get(target, target)
            earlier = [one.name for one in graph.nodes[:position]]
            sharing = {name for name in earlier if _owner(graph, name) == owner} - {target}
            later = set(references([[one.args, one.kwargs] for one in graph.nodes[position + 1 :]]))
            later |= {*references(graph.outputs), *graph.assigned.values()}
            others = {values[name].dtype for name in references([node.args[1:], node.kwargs])}
            is_plain = operator_name(node) in POINTWISE and owner not in leaves and others <= {node.dtype, "bool"}
            if is_plain and values[target].shape == node.shape and not sharing & later:
                nodes.append(replace(with_names(node, renamed), op=_plain_name(node.op)))
                renamed = {old: node.name if new == target else new for old, new in renamed.items()}
                renamed[target] = moved[owner] = node.name
                del writes[node.name]
                memory.pop(node.name, None)
                continue
        nodes.append(with_names(node, renamed))
    return replace(
        graph,
        nodes=tuple(nodes),
        outputs=substitute(graph.outputs, renamed),
        memory=memory,
        writes={name: tuple(renamed.get(one, one) for one in targets) for name, targets in writes.items()},
        assigned={name: renamed.get(value, value) for name, value in graph.assigned.items()},
    )


def _plain_name(op: str) -> str:
    first, name, *rest = op.split(".")
    return ".".join([first, name.removesuffix("_"), *rest])


def _with_copies(graph: Graph) -> Graph:
    """Where an operator copied what it might have shared, and the copy is written into, it is copied for sure: a
    kernel's results may lie in memory in another order than PyTorch's would."""
    written = {_owner(graph, name) for targets in graph.writes.values() for name in targets}
    nodes: list[Node] = []
    for node in graph.nodes:
        if node.name in written and operator_name(node) in (ALIASES | VIEWS) - COPIES:
            nodes.append(replace(node, name=f"{node.name}_shared"))
            node = replace(node, op="aten.clone.default", args=({"node": nodes[-1].name},), kwargs={})
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes))


def _keep_writes(graph: Graph, before: dict[str, set[str]], written: set[str]) -> None:
    """Whoever touches such memory comes after the last write before it, and a write after everybody before it."""
    last: dict[str, set[str]] = {memory: set() for memory in written}
    since: dict[str, set[str]] = {memory: set() for memory in written}
    for node in graph.nodes:
        targets = {_owner(graph, name) for name in graph.writes.get(node.name, ())}
        touched = {_owner(graph, name) for name in (node.name, *references([node.args, node.kwargs]))}
        for memory in (touched | targets) & written:
            before[node.name] |= last[memory]
            if memory in targets:
                before[node.name] |= since[memory]
                last[memory], since[memory] = {node.name}, set()
            else:
                since[memory].add(node.name)


def _in_autocast(nodes: Iterable[Node]) -> set[str]:
    inside: set[str] = set()
    depth = 0
    for node in nodes:
        depth += node.op == ENTER
        if depth:
            inside.add(node.name)
        depth -= node.op == EXIT
    return inside


def _keep_blocks(before: dict[str, set[str]], inside: set[str]) -> None:
    """Nobody moves into a block or out of it, and what is inside stays in its order."""
    earlier: set[str] = set()
    for name in before if inside else ():
        before[name] |= earlier if name in inside else earlier & inside
        earlier.add(name)


def with_names(node: Node, renamed: dict[str, str]) -> Node:
    args = tuple(substitute(one, renamed) for one in node.args)
    return replace(node, args=args, kwargs={key: substitute(one, renamed) for key, one in node.kwargs.items()})


def substitute(value: Any, renamed: dict[str, str]) -> Any:
    """The same with other names for the nodes it refers to."""
    name = reference(value)
    if name is not None:
        return {"node": renamed.get(name, name)}
    if isinstance(value, dict):
        return {key: substitute(item, renamed) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(substitute(item, renamed) for item in value)
    return value


def _needed(graph: Graph) -> Graph:
    """Without nodes that neither a result nor an effect depends on."""
    wanted = {*references(graph.outputs), *graph.writes, *graph.assigned.values(), *graph.random}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if node.name in wanted or node.op in (ENTER, EXIT):
            kept.append(node)
            wanted |= set(references([node.args, node.kwargs]))
    return replace(graph, nodes=tuple(kept[::-1]))


def _keep_order(before: dict[str, set[str]], names: Iterable[str]) -> None:
    last: str | None = None
    for name in names:
        if last is not None:
            before[name].add(last)
        last = name
