"""The plan of a task: its regions, their tunings, and the file that they make together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from tilesmith.playbook.graph.operators import called, is_free
from tilesmith.playbook.plan.analysis import analyze_fusion, analyze_regions
from tilesmith.playbook.plan.chained.layouts import find_layouts
from tilesmith.playbook.plan.effects import can_be_repeated
from tilesmith.playbook.plan.forward import PlannedForward, Texts, share_halves
from tilesmith.playbook.plan.part_classes import write_parts
from tilesmith.playbook.plan.regions import PlannedRegion
from tilesmith.playbook.plan.subgraphs import structure
from tilesmith.playbook.recipe import ChainedMatch, Layout, RegionMatch, RegionText, TunedPart, Tuning, part_key
from tilesmith.playbook.writing.cuda_graphs import (
    CONSTANT,
    GRAPHED,
    PLAIN_FORWARD,
    SUMMARY,
    write_graph_call,
    write_graph_code,
)
from tilesmith.playbook.writing.kernel_file import KernelFile, render_file, wrap, write_model
from tilesmith.playbook.writing.task_code import TaskCode
from tilesmith.records import STAGES, Analysis, Survey
from tilesmith.tasks.graph import Graph

_CONSTANTS = ("BLOCK", "ROWS", "BLOCK_M", "BLOCK_N", "PART_N", "HELD_N", "NUM_WARPS")
_MOST_NAMED = 6
_LEAST_LAUNCHES = 6
"""Fewer are launched in less time than kernels take that are worth having."""
_STORES = ("_halves", "_filters")
"""Where files keep what they made of weights."""
_SPLIT_ONCE = "What several products take is split into halves once."


@dataclass(frozen=True)
class Plan:
    """A task as kernels and PyTorch's operators. Which regions are kernels stands in the tuning: those whose
    constants it has."""

    survey: Survey
    code: TaskCode
    forwards: tuple[PlannedForward, ...]
    """The task's own, or those of modules inside it where that cannot be traced."""
    notes: tuple[str, ...] = ()
    """Work that algebra removed, in sentences."""

    @property
    def forward(self) -> PlannedForward:
        """The task's own; the first one where there are several."""
        return self.forwards[0]

    @property
    def graph(self) -> Graph:
        return self.forward.graph

    @cached_property
    def regions(self) -> tuple[PlannedRegion, ...]:
        return tuple(region for forward in self.forwards for region in forward.regions)

    @cached_property
    def _is_simple(self) -> bool:
        """One kernel is the whole pass: its constants have short names, unless the task has those."""
        is_one = self.forward.part is None and len(self.forward.steps) == 1
        return is_one and not self.code.names & set(_CONSTANTS)

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
        for match in self.kernels:
            prefix, own = self.prefix(match), self._own(tuning, match)
            for other in match.variations(own, stage) if own.values else ():
                values = dict(tuning.values) | dict(other.prefixed(prefix).values)
                found.append(Tuning(tuple(values.items())))
        return tuple(dict.fromkeys(found))

    @cached_property
    def parts(self) -> tuple[TunedPart, ...]:
        graphs = {id(region.match): region.graph for region in self.regions}
        tuned = [match for match in self.kernels if match.tunings[0].values]
        kernels = tuple(self._part(match, graphs[id(match)]) for match in tuned)
        if not self._may_have_graph:
            return kernels
        written = write_graph_code(self.graph.outputs, ())
        key = part_key(structure(self.graph), [part.key for part in kernels], written)
        return (*kernels, TunedPart("", key, "", (Tuning(()), GRAPHED), lambda _: (), is_kernel=False))

    @cached_property
    def _may_have_graph(self) -> bool:
        """Whether the pass may come from a CUDA graph, and has so many launches that this could pay. What has no
        weights is a function, which a graph of its caller's may hold."""
        forward, code = self.forward, self.code
        kept = [step for step in forward.steps if isinstance(step, PlannedRegion) or not is_free(step)]
        is_taken = any(PLAIN_FORWARD in text for text in (code.body, *code.definitions))
        is_whole = forward.part is None and forward.argument_names is not None and not is_taken
        has_weights = any(one.attribute for one in forward.graph.parameters)
        return is_whole and has_weights and len(kept) >= _LEAST_LAUNCHES and can_be_repeated(forward.graph)

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
            return " ".join([next(iter(texts.values())).strategy, *self._notes(tuning)])
        kept = self._kept(texts)
        titles = Counter(text.title.removesuffix(".") for text in texts.values())
        parts = [title if count == 1 else f"{count} times {title}" for title, count in titles.items()]
        shared = any(text.halves for text in texts.values())
        shown = ", ".join(kept[:_MOST_NAMED]) + (" and others" if len(kept) > _MOST_NAMED else "")
        told = f"{'; '.join(parts)}.{f' PyTorch computes {shown}.' if kept else ''}"
        return " ".join([told, *([_SPLIT_ONCE] if shared else []), *self._notes(tuning)])

    def analysis(self) -> Analysis:
        if self._is_simple:
            region = self.regions[0]
            return analyze_fusion(self.survey, region.graph, region.match)
        return analyze_regions(self.survey, self.graph, self.regions, self.strategy(self.tunings[0]))

    def write(self, tuning: Tuning) -> str:
        texts = self._texts(tuning)
        simple = self._is_simple and bool(texts)
        shown = tuple(texts.values())
        summary = _summary_of_one(shown[0]) if simple else self._summary(texts)
        notes = self._notes(tuning)
        summary += ("", *wrap(" ".join(notes))) if notes else ()
        launching = tuning.within("", {CONSTANT})
        classes = self._classes(texts, simple, bool(launching.values))
        return render_file(KernelFile(summary, shown, self.code, classes, launching))

    def _notes(self, tuning: Tuning) -> tuple[str, ...]:
        return (*self.notes, *([SUMMARY] if CONSTANT in tuning else []))

    def _classes(self, texts: Texts, simple: bool, has_graph: bool) -> tuple[str, ...]:
        if self.forward.part is not None:
            return write_parts(self.code, self.forwards, texts)
        lines = self.forward.lines(texts, self.code.names, simple)
        checks = [
            line
            for differs, planned in self.forward.conditions(texts, lines).items()
            for line in (f"if {differs}:", f"    raise ValueError({_quoted(f'written for {planned}')})")
        ]
        if not has_graph:
            return (write_model(self.code, {"forward": [*checks, *lines]}),)
        kept = [name for name in self.graph.sizes if any(name in line for line in lines)]
        numbers = [*kept, *(one for text in texts.values() for one in text.numbers)]
        own = dict.fromkeys(one for one in numbers if "self." in one)
        helpers = [helper for text in texts.values() for helper in text.kernel.helpers]
        stores = [name for name in _STORES if any(f"{name} = {{}}" in helper for helper in helpers)]
        call = write_graph_call(self.forward.argument_names or (), tuple(own))
        methods = {"forward": [call], PLAIN_FORWARD: [*checks, *lines]}
        return write_graph_code(self.graph.outputs, stores), write_model(self.code, methods)

    def _texts(self, tuning: Tuning) -> dict[str, RegionText]:
        """Of the kernels whose constants the tuning has; what has none is there if something is that it takes."""
        owned = [(match, self._own(tuning, match)) for match in self.kernels]
        owned = [(match, own) for match, own in owned if own.values or not match.tunings[0].values]
        while True:
            layouts: dict[int, Layout] = {}
            for one in self.forwards:
                layouts |= find_layouts(one.graph, one.steps, [match for match, _ in owned])
            kept = [(match, own) for match, own in owned if own.values or layouts[id(match)].takes]
            if len(kept) == len(owned):
                break
            owned = kept
        alone: dict[str, RegionText] = {}
        for match, own in owned:
            fitting = match.laid_out(layouts[id(match)]) if isinstance(match, ChainedMatch) else match
            alone[match.name] = fitting.write(own, self.prefix(match))
        return share_halves(alone, self.forwards)

    def _own(self, tuning: Tuning, match: RegionMatch) -> Tuning:
        """The constants of one kernel, under its own names."""
        names = {name for one in match.tunings for name in one.names}
        return tuning.within(self.prefix(match), names)

    def _kept(self, texts: Texts) -> list[str]:
        """What PyTorch computes, each operator once."""
        kept = (node for forward in self.forwards for node in forward.kept(texts))
        return list(dict.fromkeys(map(called, kept)))

    def _summary(self, texts: Texts) -> tuple[str, ...]:
        count = "1 kernel" if len(texts) == 1 else f"{len(texts)} kernels"
        lines = [f"{self.survey.model or 'Model'} in {count}.", ""]
        for text in texts.values():
            lines += [f"{text.kernel.name}: {text.title}", *text.formulas, *wrap(text.strategy), ""]
        kept = self._kept(texts)
        return (*lines, *wrap(f"PyTorch computes {', '.join(kept)}.")) if kept else tuple(lines[:-1])


def _quoted(message: str) -> str:
    return '"' + message.replace('"', "'") + '"'


def _summary_of_one(text: RegionText) -> tuple[str, ...]:
    shapes = wrap(f"Shapes in the task: {text.shapes}.")
    return (text.title, "", *text.formulas, "", *shapes, *wrap(text.strategy))
