"""The body of a planned `forward`: a line for every kernel and for every operator that stays PyTorch's."""

from __future__ import annotations

import ast
import json
import re
import textwrap
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from tilesmith.playbook.graph.names import make_identifier
from tilesmith.playbook.graph.operators import is_view
from tilesmith.playbook.plan.analysis import bytes_of
from tilesmith.playbook.plan.chained.side_by_side import Buffer, find_buffers, find_channels
from tilesmith.playbook.plan.effects import ENTER, EXIT, reads_what_it_writes
from tilesmith.playbook.plan.pytorch_calls import write_block, write_call, write_constant
from tilesmith.playbook.plan.regions import PlannedRegion, Step
from tilesmith.playbook.recipe import RegionText, SharedHalves
from tilesmith.playbook.recipes.convolutions.chains.concatenations import list_parts
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.fused_kernel import write_attribute_access, write_host_name
from tilesmith.playbook.writing.operands import to_source
from tilesmith.tasks.graph import Graph, ModulePart, Node, reference, references
from tilesmith.tasks.numbers.size_expressions import explain
from tilesmith.tasks.numbers.varying import always, is_varying, numbers_in, same

_LONGEST = 108
_LARGE_BYTES = 1 << 20
"""Intermediates of this size are let go as soon as nobody needs them."""

Texts = Mapping[str, RegionText]
"""The kernels of a file, by name."""


@dataclass(frozen=True, eq=False)
class PlannedForward:
    """One forward pass as kernels and PyTorch's operators."""

    graph: Graph
    """Without in-place operators that can be plain ones."""
    steps: tuple[Step, ...]
    signature: str
    """`self, x: torch.Tensor`"""
    part: ModulePart | None = None
    """The module that it is the pass of, where that is not the task's own."""

    @cached_property
    def regions(self) -> tuple[PlannedRegion, ...]:
        return tuple(step for step in self.steps if isinstance(step, PlannedRegion))

    def kept(self, texts: Texts) -> list[Node]:
        """What PyTorch computes."""
        found: list[Node] = []
        for step in self.steps:
            if isinstance(step, Node):
                found.append(step)
            elif step.match.name not in texts:
                found += step.nodes
        return [node for node in found if node.op not in (ENTER, EXIT)]

    def lines(self, texts: Texts, taken: frozenset[str], single: bool = False) -> list[str]:
        """`taken` are names of the file; `single` says that its one kernel is the whole pass."""
        names = {given.argument for given in self.graph.inputs} | taken | set(texts)
        writer = _ForwardWriter(self.graph, names, single)
        writer.buffers = _find_buffers(self.graph, self.regions, texts)
        for region in self.regions:
            text = texts.get(region.match.name)
            if text is not None and text.halves is not None:
                writer.splitting[_key(region, text.halves)] |= {node.name for node in region.nodes}
        for step in self.steps:
            if isinstance(step, PlannedRegion) and step.match.name in texts:
                writer.add_region(step, texts[step.match.name])
            else:
                for node in step.nodes if isinstance(step, PlannedRegion) else (step,):
                    writer.add_node(node)
        return writer.finished()

    def conditions(self, texts: Texts, lines: Sequence[str] = ()) -> dict[str, str]:
        """When plain arguments are not those that the pass was planned for, or sizes those that its `lines` go by,
        and what it was planned for."""
        names = {region.match.name for region in self.regions}
        used = {number for name, text in texts.items() if name in names for number in text.numbers}
        fixed = {one.expression: one.value for one in self.graph.inputs if one.shape is None}
        fixed = self._left_out() | fixed
        found: dict[str, str] = self._counts()
        lost = self._lost(used)
        for name, value in fixed.items():
            if any(_mentions(one, name) for one in lost) or not any(_mentions(one, name) for one in used):
                is_single = value is None or isinstance(value, bool)
                differs = f"{name} is not {value}" if is_single else f"{name} != {value!r}"
                found[differs] = f"{name} = {value!r}"
        return found | self._sizes(lines)

    def _lost(self, used: Collection[str]) -> list[str]:
        """Numbers of the pass that come from its arguments, and that no kernel takes from there."""
        inputs = {one.expression: one.value for one in self.graph.inputs if type(one.value) is float}
        numbers = {one for node in self.graph.nodes for one in numbers_in([node.args, node.kwargs])}
        return [
            one for one, value in (inputs | self.graph.computed).items() if one not in used and value in numbers
        ]

    def _sizes(self, lines: Sequence[str]) -> dict[str, str]:
        """Sizes of inputs that lines go by and that others were equal to wherever the pass was traced; all of them
        where a number depends on them in a way that nobody knows."""
        inputs = [one for one in self.graph.inputs if one.shape is not None]
        made = [number for one in self.graph.parameters for number in numbers_in(one.values) if is_varying(number)]
        known = self.graph.sizes
        if not all(map(self._is_explained, self.graph.nodes)) or not all(explain(one, known) for one in made):
            varying = [one for one in inputs if any(map(is_varying, one.shape or ()))]
            pairs = {f"tuple({one.expression}.shape)": tuple(map(int, one.shape or ())) for one in varying}
            return {f"{name} != {shape}": f"{name} = {shape}" for name, shape in pairs.items()}
        text, found = "\n".join(lines), dict[str, str]()
        expressions = tuple(one.expression for one in inputs)
        names = [name for name in self.graph.sizes if name.rpartition(".shape[")[0] in expressions]
        for place, name in enumerate(names):
            alike = [one for one in names[place + 1 :] if same(self.graph.sizes[one], self.graph.sizes[name])]
            if alike and any(one in text for one in (name, *alike)):
                found |= {f"{name} != {one}": f"{name} = {one}" for one in alike[:1]}
            for by in re.findall(rf"{re.escape(name)} // (\d+)", text):
                if always(lambda size, by: size % by == 0, self.graph.sizes[name], int(by)):
                    found[f"{name} % {by}"] = f"{name} % {by} = 0"
        return found

    def _is_explained(self, node: Node) -> bool:
        """Whether all of its numbers can be computed from sizes at hand."""
        shapes = {one.name: one.shape or () for one in (*self.graph.leaves, *self.graph.nodes)}
        near = [shapes[name] for name in references([node.args, node.kwargs])]
        sizes = [size for one in near for size in one if is_varying(size)]
        known = self.graph.sizes | {str(place): size for place, size in enumerate(sizes)}
        return all(explain(number, known) for number in numbers_in([node.args, node.kwargs]) if is_varying(number))

    @property
    def argument_names(self) -> tuple[str, ...] | None:
        """As they can be passed on one after the other; none where some are collected, named or nested."""
        arguments = self._arguments
        is_nested = any(one.path for one in self.graph.inputs)
        if is_nested or arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
            return None
        return tuple(one.arg for one in (*arguments.posonlyargs, *arguments.args))[1:]

    @cached_property
    def _arguments(self) -> ast.arguments:
        function = ast.parse(f"def forward({self.signature}): pass").body[0]
        assert isinstance(function, ast.FunctionDef)
        return function.args

    def _left_out(self) -> dict[str, Any]:
        """Arguments that the task leaves at their defaults, and those defaults, where they are plain values."""
        arguments = self._arguments
        positional = [*arguments.posonlyargs, *arguments.args]
        pairs = [*zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True)]
        keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        pairs += [(one, default) for one, default in keywords if default is not None]
        given = {one.argument for one in self.graph.inputs}
        return {
            one.arg: default.value
            for one, default in pairs
            if one.arg not in given and isinstance(default, ast.Constant) and default.value is not Ellipsis
        }

    def _counts(self) -> dict[str, str]:
        """How many arguments `*args` and `**kwargs` hold."""
        found: dict[str, str] = {}
        for collected in filter(None, (self._arguments.vararg, self._arguments.kwarg)):
            count = len({one.path[0] for one in self.graph.inputs if one.argument == collected.arg})
            found[f"len({collected.arg}) != {count}"] = f"{count} {collected.arg}"
        return found


def _find_buffers(graph: Graph, regions: Sequence[PlannedRegion], texts: Texts) -> list[Buffer]:
    """Of what kernels join."""
    values = {one.name: one for one in (*graph.leaves, *graph.nodes)}
    widths = {name: one.shape[1] for name, one in values.items() if one.shape is not None and len(one.shape) > 1}
    joining = [one for one in regions if one.recipe == "concatenations" and one.match.name in texts]
    return find_buffers({one.outputs[0]: list_parts(one.nodes[0]) for one in joining}, widths)


class _HalvesKey(NamedTuple):
    value: str
    """As the whole graph calls it."""
    chunks: int


def _key(region: PlannedRegion, halves: SharedHalves) -> _HalvesKey:
    return _HalvesKey(region.names[halves.value], halves.chunks)


def share_halves(texts: Texts, forwards: Sequence[PlannedForward]) -> dict[str, RegionText]:
    """The kernels of a file: with launchers that are given halves, where several split the same value."""
    sharing: set[str] = set()
    for forward in forwards:
        if reads_what_it_writes(forward.graph):  # a value may not be the same from one kernel to the next
            continue
        splitting: dict[_HalvesKey, list[str]] = defaultdict(list)
        for region in forward.regions:
            name = region.match.name
            shared = texts[name].sharing if name in texts else None
            if shared is not None and shared.halves is not None:
                splitting[_key(region, shared.halves)].append(name)
        sharing |= {name for names in splitting.values() if len(names) > 1 for name in names}
    return {name: (text.sharing or text) if name in sharing else text for name, text in texts.items()}


class _ForwardWriter:
    """A variable is used again when nobody needs what it held."""

    def __init__(self, graph: Graph, taken: set[str], single: bool) -> None:
        self._graph, self._single = graph, single
        self._taken = taken | {"torch", "nn", "triton", "tl"}
        self._variables: dict[str, str] = {}
        self.splitting: dict[_HalvesKey, set[str]] = defaultdict(set)
        """The nodes that need halves."""
        self.buffers: list[Buffer] = []
        self._held: dict[int, str] = {}
        """Variables that hold buffers, by the place of each."""
        self._halves: dict[_HalvesKey, str] = {}
        """Variables that hold them."""
        self._let_go: set[_HalvesKey] = set()
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
        """Where a value goes that is a part of a buffer, which is made once."""
        for place, buffer in enumerate(self.buffers):
            if value in buffer.numbers:
                if place not in self._held:
                    self._held[place] = self._fresh("side_by_side")
                    widths = ", ".join(map(self._channels, buffer.parts))
                    self._lines.append((f"{self._indent}{self._held[place]}", f"SideBySide({widths})"))
                return [f"into=({', '.join([self._held[place], *map(str, buffer.numbers[value])])})"]
        return []

    def _channels(self, value: str) -> str:
        """How many channels a value has, before it is there."""
        return " + ".join(f"{self.host(name)}.shape[{dim}]" for name, dim in find_channels(self._graph, value))

    def _split(self, region: PlannedRegion, halves: SharedHalves) -> str:
        """The variable with halves, which are made once."""
        key = _key(region, halves)
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
            return to_source(outputs["value"])
        if set(outputs) == {"tuple"}:
            items = [self._nest(item) for item in outputs["tuple"]]
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        if set(outputs) == {"record"}:
            ((kind, fields),) = outputs["record"].items()
            return f"{kind}({', '.join(f'{key}={self._nest(item)}' for key, item in fields.items())})"
        pairs = (f"{json.dumps(key)}: {self._nest(item)}" for key, item in outputs.items())
        return "{" + ", ".join(pairs) + "}"


def record_names(outputs: Any) -> set[str]:
    """Classes that the outputs are made by."""
    if isinstance(outputs, list):
        return {name for item in outputs for name in record_names(item)}
    if not isinstance(outputs, dict) or set(outputs) == {"value"}:
        return set()
    own = set(outputs["record"]) if set(outputs) == {"record"} else set()
    return own | {name for item in outputs.values() for name in record_names(item)}


def _broken(line: str) -> list[str]:
    """A call that is too long for a line, with its arguments on lines of their own."""
    head, opened, rest = line.partition("(")
    if len(line) <= _LONGEST or not opened or not rest.endswith(")"):
        return [line]
    inside = textwrap.wrap(rest[:-1], _LONGEST - 4, break_long_words=False, break_on_hyphens=False)
    indent = head[: len(head) - len(head.lstrip())]
    return [f"{head}(", *(f"{indent}    {part}" for part in inside), f"{indent})"]


def _mentions(expression: str, name: str) -> bool:
    """Whether an expression is computed from an argument."""
    return re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", expression) is not None
