"""What the arguments in a task's graph refer to, and its way to JSON and back. Pure: no torch here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tilesmith.records import from_json, to_json
from tilesmith.records.graph import Graph, Input, ModulePart, Node, Parameter

__all__ = [
    "GETITEM",
    "MOST_NODES",
    "Graph",
    "Input",
    "ModulePart",
    "Node",
    "Parameter",
    "graph_from_json",
    "graph_to_json",
    "reference",
    "references",
]

MOST_NODES = 2000
GETITEM = "getitem"
"""Takes one of several results of a node."""


def graph_to_json(graph: Graph) -> dict[str, Any]:
    return to_json(graph)


def graph_from_json(data: Mapping[str, Any]) -> Graph:
    return from_json(Graph, data)


def references(value: Any) -> Iterator[str]:
    """Names of all nodes that an argument or an output refers to, in order."""
    if isinstance(value, Mapping):
        if set(value) == {"node"}:
            yield value["node"]
        else:
            for item in value.values():
                yield from references(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from references(item)


def reference(value: Any) -> str | None:
    """The node that an argument is, or None for a literal."""
    return value["node"] if isinstance(value, Mapping) and set(value) == {"node"} else None
