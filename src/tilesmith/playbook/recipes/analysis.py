"""Why a fused kernel is faster, in numbers: what PyTorch moves operator by operator against what must move."""

from __future__ import annotations

from math import prod

from tilesmith.playbook.graph.operators import (
    ALIASES,
    VIEWS,
    find_needed_nodes,
    list_working_operators,
    operator_name,
)
from tilesmith.playbook.writing.fused_kernel import FusedKernel
from tilesmith.records import Analysis, Survey
from tilesmith.tasks.graph import GETITEM, Graph, Node, references

_MOST_NAMED = 6
_WIDTHS = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2, "int16": 2}
_LAUNCH_MS = 0.002
"""Launching a kernel takes about this long, so that less work than that does not count."""


def analyze_fusion(survey: Survey, fused: FusedKernel, kernel_type: str, plan: str, fallback: str) -> Analysis:
    graph = fused.graph
    steps = [*fused.leaves, *(output.step for output in fused.outputs)]
    least = sum(bytes_of(step.form.shape, step.dtype) for step in steps)
    moved = max(_moved_one_by_one(graph), least)
    count = sum(1 for node in find_needed_nodes(graph) if _works(node))
    kinds = ", ".join(list_working_operators(graph)[:_MOST_NAMED])
    operators = f"1 operator ({kinds})" if count == 1 else f"{count} operators ({kinds})"
    floor = survey.roofline.floor_ms if survey.roofline else None
    if floor and floor < _LAUNCH_MS:
        bottleneck = f"launches: {operators} on {_size(least)}, which takes less time than a launch does"
        speedup = float(max(count, 1))
    else:
        limit = f"; no kernel can take less than {floor:.3g} ms here" if floor else ""
        verb = "moves" if count == 1 else "move"
        bottleneck = f"memory bandwidth: {operators} {verb} {_size(moved)} where {_size(least)} would do{limit}"
        speedup = moved / least
    return Analysis(
        bottleneck=bottleneck,
        method="fuse the whole forward pass into one kernel that reads every input and writes every output once",
        plan=plan,
        expected_speedup=round(min(speedup, 20.0), 2),
        complexity="low",
        kernel_type=kernel_type,
        fallback=fallback,
    )


def _works(node: Node) -> bool:
    kind = operator_name(node)
    return node.op != GETITEM and kind not in ALIASES and kind not in VIEWS


def _moved_one_by_one(graph: Graph) -> int:
    """Every operator reads its operands and writes its result, each in its own type."""
    values = (*graph.leaves, *graph.nodes)
    widths = {value.name: bytes_of(value.shape, value.dtype) for value in values}
    works = (node for node in find_needed_nodes(graph) if _works(node))
    return sum(widths[name] for node in works for name in {*references([node.args, node.kwargs]), node.name})


def bytes_of(shape: tuple[int, ...] | None, dtype: str | None) -> int:
    """What a tensor takes; nothing where its shape is not known."""
    return prod(shape) * _WIDTHS.get(dtype or "", 1) if shape is not None else 0


def _size(count: int) -> str:
    return f"{count / 1e9:.3g} GB" if count >= 1e7 else f"{count / 1e6:.3g} MB"
