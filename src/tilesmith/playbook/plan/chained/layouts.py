"""Which values pass from one kernel to the next as scaled halves, channels-last: those nobody else looks at."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from tilesmith.playbook.plan.effects import reads_what_it_writes
from tilesmith.playbook.plan.regions import PlannedRegion, Step
from tilesmith.playbook.recipe import PLAIN, ChainedMatch, Layout, RegionMatch
from tilesmith.tasks.graph import Graph, Node, references

_LONG_ROW = 4
"""Kernels that are worth a copy of the images of the first, which would be read as they are otherwise."""


def chain(graph: Graph, steps: Sequence[Step], taken: Collection[str]) -> tuple[Step, ...]:
    """Kernels with the layout that fits their neighbors. `taken` are names that no kernel may have."""
    values = _find_values(graph, steps, {id(step.match) for step in steps if isinstance(step, PlannedRegion)})
    shared = _find_shared(steps, values)
    names = set(taken) | {step.match.name for step in steps if isinstance(step, PlannedRegion)}
    made: dict[tuple[int, Layout], RegionMatch] = {}
    known: set[int] = set()
    chained: list[Step] = []
    for step in steps:
        if not isinstance(step, PlannedRegion) or not isinstance(step.match, ChainedMatch):
            chained.append(step)
            continue
        layout, match = _layout(step, values, shared), step.match
        if (id(match), layout) not in made:
            new = made[id(match), layout] = match.laid_out(layout, names if id(match) in known else ())
            names |= {new.name, f"{new.name}_kernel"}
            known.add(id(match))
        chained.append(replace(step, match=made[id(match), layout]))
    return tuple(chained)


def find_unchained(graph: Graph, steps: Sequence[Step]) -> set[str]:
    """Values that kernels were planned to be given as halves, which they will not be."""
    values = _find_values(graph, steps, {id(step.match) for step in steps if isinstance(step, PlannedRegion)})
    pairs = [(one, match, _layout(one, values)) for one, match in _chained_regions(steps)]
    lost = [(one, layout) for one, match, layout in pairs if not match.gains(layout)]
    return {one.names[given.name] for one, layout in lost for given in one.graph.inputs} - values


def find_layouts(graph: Graph, steps: Sequence[Step], written: Collection[RegionMatch]) -> Mapping[int, Layout]:
    """The layout of each kernel of a file, by its id, where PyTorch computes what is not written."""
    values = _find_values(graph, steps, {id(match) for match in written}, one_for_all=True)
    shared, layouts = _find_shared(steps, values), dict[int, Layout]()
    for one, match in _chained_regions(steps):
        layout = _layout(one, values, shared)
        layouts[id(match)] = replace(layout, joined=layout.joined | layouts.get(id(match), PLAIN).joined)
    return layouts


def _chained_regions(steps: Sequence[Step]) -> list[tuple[PlannedRegion, ChainedMatch]]:
    regions = [step for step in steps if isinstance(step, PlannedRegion)]
    return [(one, one.match) for one in regions if isinstance(one.match, ChainedMatch)]


def _layout(region: PlannedRegion, values: Collection[str], shared: Mapping[str, int] = {}) -> Layout:
    """`shared`: values whose channels have several scales, and how many in a row have the same."""
    inputs = [one.name for one in region.graph.inputs if one.shape is not None]
    takes = frozenset(name for name in inputs if region.names[name] in values)
    joined = {name: shared[region.names[name]] for name in takes if shared.get(region.names[name])}
    return Layout(takes, region.outputs[0] in values, frozenset(joined.items()))


def _find_shared(steps: Sequence[Step], values: Collection[str]) -> dict[str, int]:
    """How many channels in a row have the same scale, of values that have several."""
    found: dict[str, int] = {}
    for one, match in _chained_regions(steps):
        if one.outputs[0] in values:
            given = {given.name: found.get(one.names[given.name], 0) for given in one.graph.inputs}
            found[one.outputs[0]] = match.shared(given)
    return {name: count for name, count in found.items() if count}


def _find_values(
    graph: Graph, steps: Sequence[Step], written: Collection[int], one_for_all: bool = False
) -> set[str]:
    """What kernels of convolutions give to nobody but kernels of convolutions.

    `one_for_all`: regions that are computed by one kernel have one layout.
    """
    if reads_what_it_writes(graph):
        return set()
    given: set[str] = set()
    others = {*references(graph.outputs), *graph.assigned.values()}
    for step in steps:
        if isinstance(step, Node):
            others |= set(references([step.args, step.kwargs]))
        elif id(step.match) not in written:
            others |= set(references([[node.args, node.kwargs] for node in step.nodes]))
        else:
            widest = step.match.widest if isinstance(step.match, ChainedMatch) else PLAIN
            given |= set(step.outputs) if widest.gives else set()
            others |= {step.names[one.name] for one in step.graph.inputs if one.name not in widest.takes}
    return _settled(_chained_regions(steps), given - others, one_for_all)


def _settled(
    regions: Sequence[tuple[PlannedRegion, ChainedMatch]], values: set[str], one_for_all: bool
) -> set[str]:
    """Those of the values that are left when every kernel is given what it needs, or begins a row that is long
    enough for what it has to copy."""
    beginning = {id(one) for one, match in regions if match.copies}
    while True:
        left = _supplied(regions, values, one_for_all, beginning)
        short = {id(one) for one, match in regions if _begins_short(one, match, regions, left)} & beginning
        if not short:
            return left
        beginning -= short


def _begins_short(
    region: PlannedRegion,
    match: ChainedMatch,
    regions: Sequence[tuple[PlannedRegion, ChainedMatch]],
    values: Collection[str],
) -> bool:
    if region.outputs[0] not in values or match.copies <= _layout(region, values).takes:
        return False
    row, waiting = {id(region)}, [region.outputs[0]]
    while waiting:
        value = waiting.pop()
        for one, _ in regions:
            if id(one) not in row and value in {one.names[given.name] for given in one.graph.inputs}:
                row.add(id(one))
                waiting += [name for name in one.outputs if name in values]
    return len(row) < _LONG_ROW


def _supplied(
    regions: Sequence[tuple[PlannedRegion, ChainedMatch]],
    values: set[str],
    one_for_all: bool,
    beginning: Collection[int],
) -> set[str]:
    while True:
        left = set(values)
        for one, match in regions:
            alike = [other for other, known in regions if known is match] if one_for_all else [one]
            layouts = [_layout(other, left) for other in alike]
            takes = frozenset.intersection(*(layout.takes for layout in layouts))
            left -= {one.names[given.name] for given in one.graph.inputs if given.name not in takes}
            needs = match.needs - match.copies if all(id(other) in beginning for other in alike) else match.needs
            if not needs <= takes or not all(layout.gives for layout in layouts):
                left -= set(one.outputs)
        if left == values:
            return left
        values = left
