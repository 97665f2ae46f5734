"""Why a fused kernel is faster, in numbers: what PyTorch moves operator by operator against what must move."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilesmith.playbook.graph.operators import called, find_working_nodes, is_free
from tilesmith.playbook.graph.steps import WIDTHS
from tilesmith.playbook.plan.regions import PlannedRegion
from tilesmith.playbook.recipe import RegionMatch
from tilesmith.records import Analysis, Survey
from tilesmith.tasks.graph import Graph, references

_MOST_NAMED = 6
LAUNCH_MS = 0.002
"""Launching a kernel takes about this long, so that less work than that does not count."""


def analyze_fusion(survey: Survey, graph: Graph, match: RegionMatch) -> Analysis:
    """Of a task that is one kernel."""
    plan, fallback = match.advice
    return Analysis(
        bottleneck=_bottleneck(survey, graph),
        method="fuse the whole forward pass into one kernel that reads every input and writes every output once",
        plan=plan,
        expected_speedup=_gain(survey, graph, least_bytes(graph)),
        complexity="low",
        kernel_type=match.kernel_type,
        fallback=fallback,
    )


def analyze_regions(survey: Survey, graph: Graph, regions: Sequence[PlannedRegion], strategy: str) -> Analysis:
    """Of a task that is kernels and PyTorch's operators."""
    saved = sum(moved_one_by_one(region.graph) - least_bytes(region.graph) for region in regions)
    kinds = list(dict.fromkeys(region.match.kernel_type for region in regions))
    return Analysis(
        bottleneck=_bottleneck(survey, graph),
        method="one kernel for each run of operators that a recipe takes; the others stay PyTorch's",
        plan=strategy,
        expected_speedup=_gain(survey, graph, moved_one_by_one(graph) - saved),
        complexity="medium",
        kernel_type=kinds[0] if len(kinds) == 1 else "multi",
        fallback="leave the kernel that gains least to PyTorch",
    )


def _bottleneck(survey: Survey, graph: Graph) -> str:
    least = least_bytes(graph)
    works = [node for node in graph.nodes if not is_free(node)]
    kinds = ", ".join(list(dict.fromkeys(called(node) for node in works))[:_MOST_NAMED])
    operators = f"1 operator ({kinds})" if len(works) == 1 else f"{len(works)} operators ({kinds})"
    floor = survey.roofline.floor_ms if survey.roofline else None
    if floor and floor < LAUNCH_MS:
        return f"launches: {operators} on {_size(least)}, which takes less time than a launch does"
    limit = f"; no kernel can take less than {floor:.3g} ms here" if floor else ""
    verb = "moves" if len(works) == 1 else "move"
    moved = max(moved_one_by_one(graph), least)
    return f"memory bandwidth: {operators} {verb} {_size(moved)} where {_size(least)} would do{limit}"


def _gain(survey: Survey, graph: Graph, left: int) -> float:
    """How much less is moved, or launched where that decides."""
    floor = survey.roofline.floor_ms if survey.roofline else None
    works = sum(1 for node in graph.nodes if not is_free(node))
    gain = float(max(works, 1)) if floor and floor < LAUNCH_MS else moved_one_by_one(graph) / max(left, 1)
    return round(min(max(gain, 1.0), 20.0), 2)


def least_bytes(graph: Graph) -> int:
    """Every input that is used and every output once."""
    used = set(references([[node.args, node.kwargs] for node in graph.nodes]))
    outputs = set(references(graph.outputs))
    read = (one for one in graph.leaves if one.name in used)
    values = (*read, *(node for node in graph.nodes if node.name in outputs))
    return sum(bytes_of(one.shape, one.dtype) for one in values)


def moved_one_by_one(graph: Graph) -> int:
    """Every operator reads its operands and writes its result, each in its own type."""
    values = (*graph.leaves, *graph.nodes)
    widths = {value.name: bytes_of(value.shape, value.dtype) for value in values}
    works = find_working_nodes(graph)
    return sum(widths[name] for node in works for name in {*references([node.args, node.kwargs]), node.name})


def bytes_of(shape: tuple[int, ...] | None, dtype: str | None) -> int:
    """What a tensor takes; nothing where its shape is not known."""
    return prod(shape) * WIDTHS.get(dtype or "", 1) if shape is not None else 0


def _size(count: int) -> str:
    return f"{count / 1e9:.3g} GB" if count >= 1e7 else f"{count / 1e6:.3g} MB"
