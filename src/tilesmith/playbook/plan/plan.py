"""The plan of a task: its regions in order, and the file that they make together."""

from __future__ import annotations

import ast
import builtins
import json
import keyword
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tilesmith.playbook.graph.algebra import simplify
from tilesmith.playbook.graph.names import make_identifier
from tilesmith.playbook.graph.operators import called, is_view, refuse_autocast
from tilesmith.playbook.plan.analysis import analyze_fusion, analyze_regions, bytes_of
from tilesmith.playbook.plan.decompositions import decompose
from tilesmith.playbook.plan.effects import order
from tilesmith.playbook.plan.pytorch_calls import write_call
from tilesmith.playbook.plan.regions import PlannedRegion, Step, cut, structure
from tilesmith.playbook.recipe import (
    Declined,
    Region,
    RegionMatch,
    RegionRecipe,
    RegionText,
    TunedPart,
    Tuning,
    part_key,
)
from tilesmith.playbook.recipes.products.sources import NAMES
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.playbook.writing.fused_kernel import write_host_name
from tilesmith.playbook.writing.kernel_file import KernelFile, render_file, wrap
from tilesmith.playbook.writing.operands import to_source
from tilesmith.playbook.writing.task_code import TaskCode, read_task_code
from tilesmith.records import STAGES, Analysis, Survey
from tilesmith.tasks.graph import Graph, Node, reference, references

_CONSTANTS = ("BLOCK", "ROWS", "BLOCK_N", "PART_N", "NUM_WARPS")
_MOST_NAMED = 6
_LONGEST = 108
_LARGE_BYTES = 1 << 20
"""Intermediates of this size are let go as soon as nobody needs them."""


@dataclass(frozen=True)
class Plan:
    """A task as kernels and PyTorch's operators. Which regions are kernels stands in the tuning: those whose
    constants it has."""

    survey: Survey
    graph: Graph
    """Without in-place operators that can be plain ones."""
    code: TaskCode
    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()
    """Work that algebra removed, in sentences."""

    @cached_property
    def regions(self) -> tuple[PlannedRegion, ...]:
        return tuple(step for step in self.steps if isinstance(step, PlannedRegion))

    @cached_property
    def _is_simple(self) -> bool:
        """One kernel is the whole pass: its constants have short names, unless the task has those."""
        return len(self.steps) == 1 and not self.code.names & set(_CONSTANTS)

    @cached_property
    def kernels(self) -> tuple[RegionMatch, ...]:
        """Each once, however many regions are computed by it."""
        return tuple({id(region.match): region.match for region in self.regions}.values())

    def prefix(self, match: RegionMatch) -> str:
        return "" if self._is_simple else f"{match.name.upper()}_"

    @cached_property
    def tunings(self) -> tuple[Tuning, ...]:
        """The first guess for every region, the second for every region, and so on; then one region less each."""
        most = max(len(match.tunings) for match in self.kernels)
        together = [self._joined(self.kernels, place) for place in range(most)]
        fewer = [self._joined([one for one in self.kernels if one is not left], 0) for left in self.kernels]
        return tuple(dict.fromkeys([*together, *(fewer if len(self.kernels) > 1 else [])]))

    def _joined(self, kernels: Iterable[RegionMatch], place: int) -> Tuning:
        values: list[tuple[str, int]] = []
        for match in kernels:
            guesses = match.tunings
            values += guesses[min(place, len(guesses) - 1)].prefixed(self.prefix(match)).values
        return Tuning(tuple(values))

    def variations(self, tuning: Tuning, stage: str) -> tuple[Tuning, ...]:
        """One kernel at a time."""
        found: list[Tuning] = []
        for match in self._chosen(tuning):
            prefix = self.prefix(match)
            for other in match.variations(self._own(tuning, match), stage):
                values = dict(tuning.values) | dict(other.prefixed(prefix).values)
                found.append(Tuning(tuple(values.items())))
        return tuple(dict.fromkeys(found))

    @cached_property
    def parts(self) -> tuple[TunedPart, ...]:
        graphs = {id(region.match): region.graph for region in self.regions}
        return tuple(self._part(match, graphs[id(match)]) for match in self.kernels)

    def _part(self, match: RegionMatch, graph: Graph) -> TunedPart:
        prefix = self.prefix(match)

        def neighbors(choice: Tuning) -> tuple[Tuning, ...]:
            own = self._own(choice, match)
            return tuple(one.prefixed(prefix) for stage in STAGES for one in match.variations(own, stage))

        choices = tuple(one.prefixed(prefix) for one in match.tunings)
        key = part_key(structure(graph), match.tunings, match.write(match.tunings[0]))
        return TunedPart(match.name, key, prefix, choices, neighbors)

    def strategy(self, tuning: Tuning) -> str:
        texts = self._texts(tuning)
        if len(texts) == 1 and self._is_simple:
            return " ".join([texts[0].strategy, *self.notes])
        kept = list(dict.fromkeys(called(node) for node in self._kept(tuning)))
        parts = [text.title.removesuffix(".") for text in texts]
        shown = ", ".join(kept[:_MOST_NAMED]) + (" and others" if len(kept) > _MOST_NAMED else "")
        told = f"{'; '.join(parts)}.{f' PyTorch computes {shown}.' if kept else ''}"
        return " ".join([told, *self.notes])

    def analysis(self) -> Analysis:
        if self._is_simple:
            region = self.regions[0]
            return analyze_fusion(self.survey, region.graph, region.match)
        return analyze_regions(self.survey, self.graph, self.regions, self.strategy(self.tunings[0]))

    def write(self, tuning: Tuning) -> str:
        texts = self._texts(tuning)
        simple = self._is_simple and bool(texts)
        summary = _summary_of_one(texts[0]) if simple else self._summary(tuning, texts)
        summary += ("", *wrap(" ".join(self.notes))) if self.notes else ()
        return render_file(KernelFile(summary, texts, self.code, tuple(self._forward(tuning))))

    def _chosen(self, tuning: Tuning) -> list[RegionMatch]:
        return [match for match in self.kernels if self._own(tuning, match).values]

    def _texts(self, tuning: Tuning) -> tuple[RegionText, ...]:
        return tuple(self._text(match, tuning) for match in self._chosen(tuning))

    def _text(self, match: RegionMatch, tuning: Tuning) -> RegionText:
        return match.write(self._own(tuning, match), self.prefix(match))

    def _own(self, tuning: Tuning, match: RegionMatch) -> Tuning:
        """The constants of one kernel, under its own names."""
        names = {name for one in match.tunings for name in one.names}
        return tuning.within(self.prefix(match), names)

    def _kept(self, tuning: Tuning) -> Iterator[Node]:
        chosen = self._chosen(tuning)
        for step in self.steps:
            if isinstance(step, Node):
                yield step
            elif step.match not in chosen:
                yield from step.nodes

    def _summary(self, tuning: Tuning, texts: Sequence[RegionText]) -> tuple[str, ...]:
        count = "1 kernel" if len(texts) == 1 else f"{len(texts)} kernels"
        lines = [f"{self.survey.model or 'Model'} in {count}.", ""]
        for text in texts:
            lines += [f"{text.kernel.name}: {text.title}", *text.formulas, *wrap(text.strategy), ""]
        kept = dict.fromkeys(called(node) for node in self._kept(tuning))
        return (*lines, *wrap(f"PyTorch computes {', '.join(kept)}.")) if kept else tuple(lines[:-1])

    def _forward(self, tuning: Tuning) -> list[str]:
        chosen = self._chosen(tuning)
        single = self._is_simple and bool(chosen)
        launchers = {match.name for match in chosen}
        lines = _ForwardWriter(self.graph, self.code, launchers, single)
        for step in self.steps:
            if isinstance(step, PlannedRegion) and step.match in chosen:
                lines.add_region(step, self._text(step.match, tuning))
            else:
                for node in step.nodes if isinstance(step, PlannedRegion) else (step,):
                    lines.add_node(node)
        used = {number for text in self._texts(tuning) for number in text.numbers}
        fixed = {one.expression: one.value for one in self.graph.inputs if one.shape is None}
        fixed = _left_out(self.code.signature, self.graph) | fixed
        checks = [line for name, value in fixed.items() if name not in used for line in _refuse_other(name, value)]
        return [*checks, *lines.finished()]


def _left_out(signature: str, graph: Graph) -> dict[str, Any]:
    """Arguments that the task leaves at their defaults, and those defaults, where they are plain values."""
    arguments = ast.parse(f"def forward({signature}): pass").body[0].args  # type: ignore[attr-defined]
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True)]
    pairs += [(one, default) for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    given = {one.argument for one in graph.inputs}
    return {
        one.arg: default.value
        for one, default in pairs
        if one.arg not in given and isinstance(default, ast.Constant) and default.value is not Ellipsis
    }


def _refuse_other(name: str, value: Any) -> list[str]:
    """A plain argument that decided how the pass goes has the value it was planned for."""
    differs = f"{name} is not {value}" if value is None or isinstance(value, bool) else f"{name} != {value!r}"
    message = f"written for {name} = {value!r}".replace('"', "'")
    return [f"if {differs}:", f'    raise ValueError("{message}")']


class _ForwardWriter:
    """The body of `forward`: a line for every step. A variable is used again when nobody needs what it held."""

    def __init__(self, graph: Graph, code: TaskCode, launchers: set[str], single: bool) -> None:
        self._graph, self._single = graph, single
        self._taken = (
            {given.argument for given in graph.inputs} | code.names | launchers | {"torch", "nn", "triton", "tl"}
        )
        self._variables: dict[str, str] = {}
        self._lines: list[tuple[str, str]] = []
        """Targets and what they are set to."""
        self._shapes = {one.name: one.shape for one in (*graph.leaves, *graph.nodes)}
        tensors = [one for one in graph.inputs if one.shape is not None]
        self._near = tensors[0].expression if tensors else "next(self.parameters())"
        self._nodes = {node.name: node for node in graph.nodes}
        self._sizes = {node.name: bytes_of(node.shape, node.dtype) for node in graph.nodes}
        self._waiting, self._ended, self._returned = set(self._nodes), set[str](), set(references(graph.outputs))

    def host(self, name: str) -> str:
        return self._variables.get(name) or write_host_name(self._graph, name)

    def add_region(self, region: PlannedRegion, text: RegionText) -> None:
        given = [self.host(region.names[name]) for name in text.arguments]
        call = f"{text.kernel.name}({', '.join([*given, *text.numbers])})"
        names = list(text.results) if self._single else [self._fresh(name) for name in region.outputs]
        self._variables |= dict(zip(region.outputs, names, strict=True))
        self._add(", ".join(names), call, region.nodes)

    def add_node(self, node: Node) -> None:
        call = write_call(node, self.host, self._shapes, self._near)
        self._variables[node.name] = self._fresh(node.name)
        self._add(self._variables[node.name], call, (node,))

    def _add(self, target: str, call: str, nodes: Sequence[Node]) -> None:
        """The line, and the end of what nobody needs any more: results of PyTorch's would end by themselves."""
        self._lines.append((target, call))
        self._waiting -= {node.name for node in nodes}
        needed = set(references([[self._nodes[name].args, self._nodes[name].kwargs] for name in self._waiting]))
        for node in reversed(self._graph.nodes):  # a view that a kernel makes itself needs what it looks at
            if node.name in needed and is_view(node):
                needed |= set(references([node.args]))
        over = [name for name in self._variables if name not in needed | self._returned | self._ended]
        self._ended |= set(over)
        large = [self._variables[name] for name in over if self._sizes[name] >= _LARGE_BYTES]
        if large:
            self._lines.append(("", f"del {', '.join(large)}"))

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
        if lines and not lines[-1][0]:
            lines.pop()  # it ends with the function
        last = None
        if lines and result in (lines[-1][0], f"({lines[-1][0]})"):
            last = lines.pop()[1]
        written = [f"{target} = {call}" if target else call for target, call in lines]
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
        pairs = (f"{json.dumps(key)}: {self._nest(item)}" for key, item in outputs.items())
        return "{" + ", ".join(pairs) + "}"


def _broken(line: str) -> list[str]:
    """A call that is too long for a line, with its arguments on lines of their own."""
    head, opened, rest = line.partition("(")
    if len(line) <= _LONGEST or not opened or not rest.endswith(")"):
        return [line]
    inside = textwrap.wrap(rest[:-1], _LONGEST - 4, break_long_words=False, break_on_hyphens=False)
    return [f"{head}(", *(f"    {part}" for part in inside), ")"]


def make_plan(survey: Survey, graph: Graph, recipes: Sequence[RegionRecipe]) -> Plan | Declined:
    """Declined where the task's own code cannot be repeated, or no region has a recipe."""
    try:
        refuse_autocast(graph)
        code = read_task_code(survey)
        ordered = order(decompose(graph))
        simple = simplify(ordered.graph)
        ordered = order(simple.graph) if simple.notes else ordered
        arguments = {given.argument for given in graph.inputs}
        taken = code.names | arguments | set(dir(builtins)) | set(keyword.kwlist)
        whole = Region(ordered.graph, survey, frozenset(taken))
        plan = Plan(survey, ordered.graph, code, _worth_it(cut(ordered, whole, recipes)), simple.notes)
        if hidden := code.names & NAMES:
            return Declined(f"the task has a name of its own that a kernel needs: {min(hidden)}")
        if not plan.regions:
            return Declined(_why_nothing(whole, recipes))
        plan.write(plan.tunings[0])
    except Unmatched as reason:
        return Declined(f"the task {reason}")
    return plan


def _worth_it(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Where PyTorch takes part, a kernel for a single operator would only be its equal."""
    if len(steps) == 1:
        return steps
    kept: list[Step] = []
    for step in steps:
        kept += step.nodes if isinstance(step, PlannedRegion) and not step.match.is_worth_it else [step]
    return tuple(kept)


def _why_nothing(whole: Region, recipes: Sequence[RegionRecipe]) -> str:
    answers = {recipe.name: recipe.match(whole) for recipe in recipes}
    reasons = {name: answer.reason for name, answer in answers.items() if isinstance(answer, Declined)}
    if len(set(reasons.values())) == 1:
        return next(iter(reasons.values()))
    return "; ".join(f"{name}: {reason}" for name, reason in reasons.items())


def _summary_of_one(text: RegionText) -> tuple[str, ...]:
    shapes = wrap(f"Shapes in the task: {text.shapes}.")
    return (text.title, "", *text.formulas, "", *shapes, *wrap(text.strategy))
