"""The lines of a planned `forward`: variables, calls, and what is let go when nobody needs it any more."""

from __future__ import annotations

import json
import textwrap
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from tilesmith.playbook.graph.names import make_identifier
from tilesmith.playbook.graph.operators import is_view, operator_name
from tilesmith.playbook.plan.analysis import bytes_of
from tilesmith.playbook.plan.chained.side_by_side import Buffer, find_channels
from tilesmith.playbook.plan.effects import ENTER, EXIT
from tilesmith.playbook.plan.pytorch_calls import write_block, write_call, write_constant
from tilesmith.playbook.plan.regions import PlannedRegion
from tilesmith.playbook.recipe import RegionText, SharedHalves
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.fused_kernel import write_attribute_access, write_host_name
from tilesmith.playbook.writing.operands import to_source
from tilesmith.tasks.graph import Graph, Node, reference, references

_LONGEST = 108
_LARGE_BYTES = 1 << 20
"""Intermediates of this size are let go as soon as nobody needs them."""


class HalvesKey(NamedTuple):
    value: str
    """As the whole graph calls it."""
    chunks: int


def halves_key(region: PlannedRegion, halves: SharedHalves) -> HalvesKey:
    return HalvesKey(region.names[halves.value], halves.chunks)


class ForwardWriter:
    """A variable is used again when nobody needs what it held."""

    def __init__(self, graph: Graph, taken: set[str], single: bool) -> None:
        self._graph, self._single = graph, single
        self._taken = taken | {"torch", "nn", "triton", "tl"}
        self._variables: dict[str, str] = {}
        self.splitting: dict[HalvesKey, set[str]] = defaultdict(set)
        """The nodes that need halves."""
        self.buffers: list[Buffer] = []
        self.rooms = 0
        """How many results of kernels pass to others as halves, parts of buffers included."""
        self._largest = ""
        self._held: dict[int, str] = {}
        """Variables that hold buffers, by the place of each."""
        self._halves: dict[HalvesKey, str] = {}
        """Variables that hold them."""
        self._let_go: set[HalvesKey] = set()
        self._lines: list[tuple[str, str]] = []
        """Targets and what they are set to."""
        self._indent = ""
        tensors = [one for one in graph.inputs if one.shape is not None]
        self._near = tensors[0].expression if tensors else "next(self.parameters())"
        self._nodes = {node.name: node for node in graph.nodes}
        self._sizes = {node.name: bytes_of(node.shape, node.dtype) for node in graph.nodes}
        self._waiting, self._ended = set(self._nodes), set[str]()
        self._returned = {*references(graph.outputs), *graph.assigned.values()}
        self._used = self._returned | set(references([[node.args, node.kwargs] for node in graph.nodes]))
        for owned in graph.parameters:
            if not owned.attribute and owned.name in self._used:
                if owned.values is None:
                    raise Unmatched("makes a constant of more numbers than a file should hold")
                self._lines.append((self._fresh(owned.name), write_constant(owned, self._near, graph.sizes)))
                self._variables[owned.name] = self._lines[-1][0]
                self._ended.add(owned.name)

    def host(self, name: str) -> str:
        return self._variables.get(name) or write_host_name(self._graph, name)

    def add_region(self, region: PlannedRegion, text: RegionText) -> None:
        given = [self.host(region.names[name]) for name in text.arguments]
        halves = [self._split(region, text.halves)] if text.halves else []
        into = self._into(region.outputs[0]) if text.has_room else []
        call = f"{text.kernel.name}({', '.join([*given, *text.numbers, *halves, *into])})"
        names = list(text.results) if self._single else [self._fresh(name) for name in region.outputs]
        self._variables |= dict(zip(region.outputs, names, strict=True))
        self._add(", ".join(names), call, region.nodes)

    def _into(self, value: str) -> list[str]:
        """Where a value goes that is a part of a buffer, which is made once, and where its largest numbers go."""
        if not self._largest:
            self._largest = self._fresh("largest")
            self._lines.append((f"{self._indent}{self._largest}", f"LargestNumbers({self.rooms})"))
        for place, buffer in enumerate(self.buffers):
            if value in buffer.numbers:
                if place not in self._held:
                    self._held[place] = self._fresh("side_by_side")
                    widths = ", ".join(map(self._channels, buffer.parts))
                    self._lines.append(
                        (f"{self._indent}{self._held[place]}", f"SideBySide({self._largest}, {widths})")
                    )
                return [f"into=({', '.join([self._held[place], *map(str, buffer.numbers[value])])})"]
        return [f"into={self._largest}"]

    def _channels(self, value: str) -> str:
        """How many channels a value has, before it is there."""
        return " + ".join(f"{self.host(name)}.shape[{dim}]" for name, dim in find_channels(self._graph, value))

    def _split(self, region: PlannedRegion, halves: SharedHalves) -> str:
        """The variable with halves, which are made once."""
        key = halves_key(region, halves)
        if key not in self._halves:
            self._halves[key] = self._fresh(f"halves_of_{key.value}")
            self._lines.append((f"{self._indent}{self._halves[key]}", halves.call.format(self.host(key.value))))
        return self._halves[key]

    def add_node(self, node: Node) -> None:
        if node.op == ENTER:
            self._lines.append(("", f"{self._indent}{write_block(node, self._near)}"))
            self._indent += "    "
        elif node.op == EXIT:
            if self._lines[-1][1].endswith(":"):
                self._lines.append(("", f"{self._indent}pass"))
            self._indent = self._indent[4:]
        else:
            call = write_call(node, self.host, self._graph, self._near)
            if node.name in self._used:
                self._variables[node.name] = self._fresh(node.name)
            self._add(self._variables.get(node.name, ""), call, (node,))
            if operator_name(node) == "bincount" and node.name in self._used:
                (counts,) = node.shape or ()
                told = f"values below {int(counts)}, as many as are counted at least"
                test = f"assert {self._variables[node.name]}.numel() == {int(counts)}"
                self._lines.append((self._indent, f'{test}, "written for {told}"'))

    def _add(self, target: str, call: str, nodes: Sequence[Node]) -> None:
        """The line, and the end of what nobody needs any more: results of PyTorch's would end by themselves."""
        self._lines.append((f"{self._indent}{target}", call))
        self._waiting -= {node.name for node in nodes}
        needed = set(references([[self._nodes[name].args, self._nodes[name].kwargs] for name in self._waiting]))
        for node in reversed(self._graph.nodes):  # a view that a kernel makes itself needs what it looks at
            if node.name in needed and is_view(node):
                needed |= set(references([node.args]))
        over = [name for name in self._variables if name not in needed | self._returned | self._ended]
        self._ended |= set(over)
        large = [self._variables[name] for name in over if self._sizes[name] >= _LARGE_BYTES]
        done = [key for key in self._halves if not self.splitting[key] & self._waiting]
        large += [self._halves[key] for key in done if key not in self._let_go]
        self._let_go |= set(done)
        over_with = [place for place in self._held if not self._waiting & {*self.buffers[place].numbers}]
        large += [self._held.pop(place) for place in over_with]
        if large:
            self._lines.append(("", f"{self._indent}del {', '.join(large)}"))

    def _fresh(self, name: str) -> str:
        wanted = make_identifier(name)
        found, number = wanted, 1
        while found in self._taken:
            found, number = f"{wanted}_{number}", number + 1
        self._taken.add(found)
        return found

    def finished(self) -> list[str]:
        result = self._nest(self._graph.outputs)
        lines = list(self._lines)
        if lines and lines[-1][1].startswith("del "):
            lines.pop()  # it ends with the function
        lines += [
            (write_attribute_access(attribute), self.host(name)) for attribute, name in self._graph.assigned.items()
        ]
        last = None
        if lines and result in (lines[-1][0], f"({lines[-1][0]})"):
            last = lines.pop()[1]
        written = [f"{target} = {call}" if target.strip() else f"{target}{call}" for target, call in lines]
        return [part for line in [*written, f"return {last or result}"] for part in _broken(line)]

    def _nest(self, outputs: Any) -> str:
        name = reference(outputs)
        if name is not None:
            return self.host(name)
        if isinstance(outputs, list):
            return f"[{', '.join(self._nest(item) for item in outputs)}]"
        if set(outputs) == {"value"}:
            value = outputs["value"]
            return json.dumps(value) if isinstance(value, str) else to_source(value)
        if set(outputs) == {"tuple"}:
            items = [self._nest(item) for item in outputs["tuple"]]
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        if set(outputs) == {"record"}:
            ((kind, fields),) = outputs["record"].items()
            return f"{kind}({', '.join(f'{key}={self._nest(item)}' for key, item in fields.items())})"
        pairs = (f"{json.dumps(key)}: {self._nest(item)}" for key, item in outputs.items())
        return "{" + ", ".join(pairs) + "}"


def _broken(line: str) -> list[str]:
    """A call that is too long for a line, with its arguments on lines of their own."""
    head, opened, rest = line.partition("(")
    if len(line) <= _LONGEST or not opened or not rest.endswith(")"):
        return [line]
    inside = textwrap.wrap(rest[:-1], _LONGEST - 4, break_long_words=False, break_on_hyphens=False)
    indent = head[: len(head) - len(head.lstrip())]
    return [f"{head}(", *(f"{indent}    {part}" for part in inside), f"{indent})"]
