"""Some nodes of a forward pass as a graph of their own, with short names: what a region is to a recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tilesmith.playbook.graph.operators import is_view
from tilesmith.playbook.plan.effects import substitute, with_names
from tilesmith.tasks.graph import Graph, Input, Node, references
from tilesmith.tasks.numbers.varying import varying_of


def find_views_of_inputs(nodes: Sequence[Node]) -> set[str]:
    """Views of what others made: everyone who needs such a view makes it, at no cost."""
    names = {node.name for node in nodes}
    found: set[str] = set()
    for node in nodes:
        if is_view(node) and not (set(references([node.args, node.kwargs])) & names) - found:
            found.add(node.name)
    return found


def extract(
    graph: Graph,
    nodes: Sequence[Node],
    needed: Mapping[str, set[str]] | None = None,
    taking: Mapping[str, set[str]] | None = None,
) -> Graph:
    """Some nodes as a graph of their own: it takes what others made, and gives what others need. `needed` says what
    every node of the whole refers to, for who asks often, and `taking` what it must find when it is another's."""
    needed = needed or {one.name: set(references([one.args, one.kwargs])) for one in graph.nodes}
    names = {node.name for node in nodes}
    views = find_views_of_inputs(nodes)
    used = set[str]().union(*(needed[name] for name in names))
    elsewhere = {*references(graph.outputs), *graph.assigned.values()}
    elsewhere |= set[str]().union(*(found for name, found in (taking or needed).items() if name not in names))
    made = [node for node in graph.nodes if node.name in used - names]
    numbers = tuple(one for one in graph.inputs if one.shape is None and type(one.value) is float)
    inputs = tuple(one for one in graph.inputs if one.name in used)
    return replace(
        graph,
        inputs=(*inputs, *numbers, *(Input(one.name, one.name, (), one.shape, None, one.dtype) for one in made)),
        parameters=tuple(one for one in graph.parameters if one.name in used),
        nodes=tuple(nodes),
        outputs={"tuple": [{"node": node.name} for node in nodes if node.name in elsewhere - views]},
    )


def renamed(graph: Graph) -> tuple[Graph, dict[str, str]]:
    """The graph of a region with short names, and the old names by the new.

    Regions that do the same have them in the same order. Values are called after the operator that makes them,
    parameters by the last part of their name.
    """
    new: dict[str, str] = {}
    taken: set[str] = set()
    numbers: dict[str, int] = {}

    def call(old: str, wanted: str) -> None:
        found, number = wanted, numbers.get(wanted, 1)
        while found in taken:
            found, number = f"{wanted}_{number}", number + 1
        numbers[wanted] = number
        taken.add(found)
        new[old] = found

    order = list(dict.fromkeys(references([[node.args, node.kwargs] for node in graph.nodes])))
    given = {one.name: one for one in graph.inputs}
    owned = {one.name: one for one in graph.parameters}
    inputs = [given[name] for name in order if name in given] + [one for one in graph.inputs if one.shape is None]
    parameters = [owned[name] for name in order if name in owned]
    for one in inputs:
        call(one.name, _base(one.name))
    for parameter in parameters:
        call(parameter.name, parameter.attribute.split(".")[-1] or parameter.name)
    for node in graph.nodes:
        call(node.name, _base(node.name))
    result = replace(
        graph,
        inputs=tuple(replace(one, name=new[one.name]) for one in inputs),
        parameters=tuple(replace(one, name=new[one.name]) for one in parameters),
        nodes=tuple(replace(with_names(node, new), name=new[node.name]) for node in graph.nodes),
        outputs=substitute(graph.outputs, new),
    )
    return result, {name: old for old, name in new.items()}


def structure(graph: Graph) -> object:
    """What a region does, whatever its values are called."""
    places = {one.name: str(place) for place, one in enumerate((*graph.leaves, *graph.nodes))}
    inputs = [(one.shape, one.dtype, one.value) for one in graph.inputs]
    parameters = [(one.shape, one.stride, one.dtype) for one in graph.parameters]
    nodes = [replace(with_names(node, places), name=places[node.name]) for node in graph.nodes]
    return inputs, parameters, nodes, substitute(graph.outputs, places), varying_of(graph)


def _base(name: str) -> str:
    """`linear_12` is `linear`: the tracer numbers what it has seen before."""
    head, _, tail = name.rpartition("_")
    return head if head and tail.isdecimal() else name
