"""What the playbook would do with a task, and what the task consists of: an answer before anything is judged."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass

from tilesmith.playbook import find_match
from tilesmith.playbook.graph.operators import (
    ATTENTION,
    CONVOLUTIONS,
    POINTWISE,
    PRODUCTS,
    SYNONYMS,
    called,
    find_needed_nodes,
    is_free,
    is_known,
    operator_name,
)
from tilesmith.playbook.plan.analysis import bytes_of, least_bytes, moved_one_by_one
from tilesmith.playbook.plan.costs import flops_of, pytorch_ms
from tilesmith.playbook.plan.plan import Plan
from tilesmith.playbook.plan.regions import PlannedRegion
from tilesmith.playbook.plan.subgraphs import extract
from tilesmith.playbook.recipe import Declined
from tilesmith.playbook.recipes.recurrent.layer import CELLS
from tilesmith.playbook.unmatched import Unmatched
from tilesmith.records import Analysis, GpuPeaks, Roofline, Survey
from tilesmith.tasks.graph import Graph, Node, references

_MOST_LISTED = 12
_MOST_WHY = 3
_WIDTH = 28


@dataclass(frozen=True)
class OperatorWork:
    """All calls of one operator in a forward pass."""

    operator: str
    calls: int
    bytes_moved: int
    """Of its operands and results, as PyTorch reads and writes them one call after another."""
    flops: int | None
    """About; null where the shapes alone do not tell."""
    in_recipes: bool
    """Whether recipes know it; that alone does not make one fit."""
    pytorch_ms: float | None = None
    """What all of them take at least, each launched by itself, by roofline; null where the GPU is not known."""


@dataclass(frozen=True)
class RegionPlan:
    """A part of the forward pass: one kernel, or operators in a row that PyTorch computes."""

    operators: tuple[str, ...]
    kernel: str | None
    """The name of its kernel; null where it stays PyTorch's."""
    bytes_moved: int
    """Of what it takes and gives, once."""
    pytorch_bytes: int
    """What PyTorch moves for it, operator by operator."""
    flops: int | None
    floor_ms: float | None
    """What memory and arithmetic of the GPU allow; null where that is not known."""
    why: str
    pytorch_ms: float | None = None
    """What PyTorch takes for it at least, operator by operator, by roofline."""


@dataclass(frozen=True)
class TaskPlan:
    """What would be done with a task, and the facts behind it."""

    task: str
    recipe_fits: bool
    told: str
    """The strategy of the recipe, or what to do because none fits."""
    operators: tuple[OperatorWork, ...]
    """Those that move the most first."""
    bytes_moved: int | None
    """Of the whole task at least: every input, parameter and output once."""
    flops: int | None
    roofline: Roofline | None
    fusable: tuple[str, ...]
    """Neighbors that one kernel could compute: `add, relu, mul`."""
    analysis: Analysis | None = None
    variants: int = 0
    """Kernels that the recipe could write."""
    regions: tuple[RegionPlan, ...] = ()
    """Where there is more than one, in the order in which they run."""


def plan_task(survey: Survey) -> TaskPlan:
    match = find_match(survey)
    fits = not isinstance(match, Declined)
    return TaskPlan(
        task=survey.task,
        recipe_fits=fits,
        told=match.reason if isinstance(match, Declined) else match.strategy(match.tunings[0]),
        operators=_works(survey.graph, survey.gpu) if survey.graph else (),
        bytes_moved=survey.profile.bytes_moved,
        flops=survey.profile.flops,
        roofline=survey.roofline,
        fusable=_fusable(survey.graph) if survey.graph else (),
        analysis=None if isinstance(match, Declined) else match.analysis(),
        variants=0 if isinstance(match, Declined) else len(match.tunings),
        regions=_regions(match) if isinstance(match, Plan) else (),
    )


def describe_plan(survey: Survey) -> str:
    """The plan for an author who may do better; empty where no recipe fits."""
    plan = plan_task(survey)
    if not plan.recipe_fits or plan.analysis is None:
        return ""
    found = plan.analysis
    return "\n".join([f"limited by {found.bottleneck}", f"so: {found.method}", *plan_lines(plan)])


def _regions(plan: Plan) -> tuple[RegionPlan, ...]:
    """Kernels one by one; PyTorch's operators together from one kernel to the next."""
    found: list[RegionPlan] = []
    for forward in plan.forwards:
        waiting: list[Node] = []
        for step in (*forward.steps, None):
            if isinstance(step, Node):
                waiting.append(step)
                continue
            if any(not is_free(node) for node in waiting):
                found.append(_region(plan.survey, forward.graph, tuple(waiting), None))
            waiting = []
            if step is not None:
                found.append(_region(plan.survey, forward.graph, step.nodes, step))
    return tuple(found)


def _region(survey: Survey, whole: Graph, nodes: tuple[Node, ...], region: PlannedRegion | None) -> RegionPlan:
    shapes = {value.name: value.shape or () for value in (*whole.leaves, *whole.nodes)}
    graph = extract(whole, nodes)
    working = [node for node in nodes if not is_free(node)]
    flops = [flops_of(node, shapes) for node in working]
    total = None if None in flops else sum(one for one in flops if one is not None)
    least, gpu = least_bytes(graph), survey.gpu
    floor = None
    if gpu is not None and total is not None:
        floor = max(least / (gpu.memory_gb_per_s * 1e9), total / (gpu.fp16_tflops * 1e12)) * 1e3
    operators = tuple(dict.fromkeys(called(node) for node in working))
    kernel = region.match.name if region is not None else None
    moved, spent = moved_one_by_one(graph), sum(pytorch_ms(graph, gpu).values()) if gpu is not None else None
    return RegionPlan(operators, kernel, least, moved, total, floor, _why(working, region), spent)


def _why(working: list[Node], region: PlannedRegion | None) -> str:
    if region is not None:
        return region.match.write(region.match.tunings[0]).strategy.split(". ")[0].removesuffix(".")
    others = [node for node in working if not is_known(node)]
    if others:
        known = PRODUCTS | CONVOLUTIONS | ATTENTION  # by recipes, of some sizes, types and neighbors
        found: dict[str, list[str]] = {"no recipe for": [], "no recipe fits this": []}
        for node in others:
            found["no recipe fits this" if operator_name(node) in known else "no recipe for"].append(called(node))
        return "; ".join(f"{what} {_some(names)}" for what, names in found.items() if names)
    return "single operators: a kernel for one of them would be PyTorch's equal"


def _some(names: list[str]) -> str:
    distinct = list(dict.fromkeys(names))
    return f"{', '.join(distinct[:_MOST_WHY])}{' and others' if len(distinct) > _MOST_WHY else ''}"


def plan_lines(plan: TaskPlan) -> list[str]:
    """The plan for people: what to do, then operators, roofline and what could be fused."""
    lines = [plan.told]
    if len(plan.regions) > 1:
        lines += _region_lines(plan.regions)
    elif plan.operators:
        lines.append(f"{'operator':<24} {'calls':>5} {'bytes':>9} {'FLOPs':>9} {'ms':>8}  recipes")
    for one in plan.operators[:_MOST_LISTED] if len(plan.regions) < 2 else ():
        known = "know it" if one.in_recipes else "none"
        lines.append(
            f"{one.operator:<24} {one.calls:>5} {_number(one.bytes_moved):>9} {_number(one.flops):>9} "
            f"{_milliseconds(one.pytorch_ms):>8}  {known}"
        )
    if len(plan.operators) > _MOST_LISTED and len(plan.regions) < 2:
        lines.append(f"and {len(plan.operators) - _MOST_LISTED} more operators")
    if plan.roofline is not None:
        floor = plan.roofline
        lines.append(
            f"roofline: at least {floor.floor_ms:.3g} ms on {floor.gpu}, bound by {floor.bound}: "
            f"{_number(plan.bytes_moved)} bytes once, {_number(plan.flops)} FLOPs"
        )
    if not plan.regions:
        lines += [f"could be fused into one kernel: {names}" for names in plan.fusable[:_MOST_LISTED]]
    return lines


def _region_lines(regions: tuple[RegionPlan, ...]) -> list[str]:
    columns = ("bytes", "PyTorch's", "FLOPs", "floor ms", "PyTorch ms")
    lines = [f"{'region':<28} {'by':<8} {' '.join(f'{one:>10}' for one in columns)}  why"]
    for one in regions:
        what = one.kernel or ", ".join(one.operators)
        shown = what if len(what) <= _WIDTH else f"{what[: _WIDTH - 1]}…"
        sizes = " ".join(f"{_number(count):>10}" for count in (one.bytes_moved, one.pytorch_bytes, one.flops))
        times = " ".join(f"{_milliseconds(time):>10}" for time in (one.floor_ms, one.pytorch_ms))
        lines.append(f"{shown:<28} {'kernel' if one.kernel else 'PyTorch':<8} {sizes} {times}  {one.why}")
    return lines


def _milliseconds(time: float | None) -> str:
    return "?" if time is None else f"{time:.3g}"


def _number(count: int | None) -> str:
    if count is None:
        return "?"
    for size, unit in ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return str(count)


def _working_nodes(graph: Graph) -> list[Node]:
    nodes: Iterable[Node] = graph.nodes
    with contextlib.suppress(Unmatched):  # it writes in place where nobody reads: then all of them
        nodes = find_needed_nodes(graph)
    return [node for node in nodes if not is_free(node)]


def _works(graph: Graph, gpu: GpuPeaks | None) -> tuple[OperatorWork, ...]:
    times = pytorch_ms(graph, gpu) if gpu is not None else {}
    values = {value.name: value for value in (*graph.leaves, *graph.nodes)}
    shapes = {name: value.shape or () for name, value in values.items()}
    widths = {name: bytes_of(value.shape, value.dtype) for name, value in values.items()}
    found: dict[str, OperatorWork] = {}
    for node in _working_nodes(graph):
        name, before = called(node), found.get(called(node))
        moved = sum(widths[one] for one in {*references([node.args, node.kwargs]), node.name})
        flops, spent = flops_of(node, shapes), times.get(node.name, 0.0)
        if before is not None:
            moved += before.bytes_moved
            spent += before.pytorch_ms or 0.0
            flops = None if flops is None or before.flops is None else flops + before.flops
        calls = before.calls + 1 if before else 1
        known = is_known(node) or node.op in CELLS
        found[name] = OperatorWork(name, calls, moved, flops, known, spent if gpu else None)
    return tuple(sorted(found.values(), key=lambda one: -one.bytes_moved))


def _fusable(graph: Graph) -> tuple[str, ...]:
    """Runs of pointwise operators that feed one another, two at least, each as a list of names."""
    groups: dict[str, list[str]] = {}
    for node in _working_nodes(graph):
        if not is_known(node) or SYNONYMS.get(operator_name(node), operator_name(node)) not in POINTWISE:
            continue
        feeding = [groups[name] for name in references([node.args, node.kwargs]) if name in groups]
        group = feeding[0] if feeding else []
        group.append(called(node))
        groups[node.name] = group
    distinct = {id(group): group for group in groups.values()}
    return tuple(", ".join(group) for group in distinct.values() if len(group) > 1)
