"""The body of a planned `forward`: a line for every kernel and for every operator that stays PyTorch's."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tilesmith.playbook.graph.loops import find_loops
from tilesmith.playbook.plan.chained.side_by_side import Buffer, find_buffers
from tilesmith.playbook.plan.effects import ENTER, EXIT, reads_what_it_writes
from tilesmith.playbook.plan.forward_lines import ForwardWriter, HalvesKey, halves_key
from tilesmith.playbook.plan.regions import PlannedRegion, Step
from tilesmith.playbook.recipe import RegionText
from tilesmith.playbook.recipes.convolutions.chains.concatenations import list_parts
from tilesmith.syntax import parse
from tilesmith.tasks.graph import Graph, ModulePart, Node, references
from tilesmith.tasks.numbers.size_expressions import explain
from tilesmith.tasks.numbers.varying import always, is_varying, numbers_in, same, sizes_of_inputs

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
        writer = ForwardWriter(self.graph, names, single)
        writer.buffers = _find_buffers(self.graph, self.regions, texts)
        joined = {name for buffer in writer.buffers for name in buffer.numbers}
        writer.rooms = sum(len(buffer.parts) for buffer in writer.buffers)
        for region in self.regions:
            text = texts.get(region.match.name)
            if text is not None and text.has_room:
                writer.rooms += region.outputs[0] not in joined
            if text is not None and text.halves is not None:
                writer.splitting[halves_key(region, text.halves)] |= {node.name for node in region.nodes}
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
        return found | self.graph.conditions | self._turns() | self._sizes(lines)

    def _turns(self) -> dict[str, str]:
        """Sizes with which the pass goes another way; those that a loop counts its steps by may be any."""
        loops = [loop for one in self.regions if one.recipe == "loops" for loop in find_loops(one.graph)]
        grown = {loop.steps: len(loop.names) // loop.steps for loop in loops}
        own = {name: int(size) for name, size in sizes_of_inputs(self.graph).items()}
        turning = self.graph.turning.items()
        wanted = [name for name, more in turning if not 0 < more <= grown.get(own[name], 0)]
        return {f"{name} != {own[name]}": f"{name} = {own[name]}" for name in wanted}

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
        function = parse(f"def forward({self.signature}): pass").body[0]
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


def share_halves(texts: Texts, forwards: Sequence[PlannedForward]) -> dict[str, RegionText]:
    """The kernels of a file: with launchers that are given halves, where several split the same value."""
    sharing: set[str] = set()
    for forward in forwards:
        if reads_what_it_writes(forward.graph):  # a value may not be the same from one kernel to the next
            continue
        splitting: dict[HalvesKey, list[str]] = defaultdict(list)
        for region in forward.regions:
            name = region.match.name
            shared = texts[name].sharing if name in texts else None
            if shared is not None and shared.halves is not None:
                splitting[halves_key(region, shared.halves)].append(name)
        sharing |= {name for names in splitting.values() if len(names) > 1 for name in names}
    return {name: (text.sharing or text) if name in sharing else text for name, text in texts.items()}


def record_names(outputs: Any) -> set[str]:
    """Classes that the outputs are made by."""
    if isinstance(outputs, list):
        return {name for item in outputs for name in record_names(item)}
    if not isinstance(outputs, dict) or set(outputs) == {"value"}:
        return set()
    own = set(outputs["record"]) if set(outputs) == {"record"} else set()
    return own | {name for item in outputs.values() for name in record_names(item)}


def _mentions(expression: str, name: str) -> bool:
    """Whether an expression is computed from an argument."""
    return re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", expression) is not None
