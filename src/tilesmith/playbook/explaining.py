"""Why a fused kernel is faster, in numbers: what PyTorch moves operator by operator against what must move."""

from __future__ import annotations

from math import prod

from tilesmith.playbook.formula import telling_operators
from tilesmith.playbook.fusing import Fused
from tilesmith.playbook.operators import ALIASES, VIEWS, packet
from tilesmith.records import Analysis, Survey
from tilesmith.tasks.graph import GETITEM, Graph, references

_MOST_NAMED = 6
_WIDTHS = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2, "int16": 2}


def analyse(survey: Survey, fused: Fused, kernel_type: str, plan: str, fallback: str) -> Analysis:
    graph = fused.graph
    tensors = [step.form.shape for step in fused.leaves], [output.step.form.shape for output in fused.outputs]
    needed = sum(prod(shape) for group in tensors for shape in group) * _width(graph)
    moved = max(_moved_one_by_one(graph), needed)
    count = sum(1 for node in graph.nodes if _works(node.op, packet(node)))
    floor = (survey.roofline or {}).get("floor_ms")
    limit = f"; no kernel can take less than {floor:.3g} ms here" if floor else ""
    kinds = ", ".join(telling_operators(graph)[:_MOST_NAMED])
    operators = f"1 operator ({kinds}) moves" if count == 1 else f"{count} operators ({kinds}) move"
    return Analysis(
        bottleneck=f"memory bandwidth: {operators} {_gigabytes(moved)} where {_gigabytes(needed)} would do{limit}",
        method="fuse the whole forward pass into one kernel that reads every input and writes every output once",
        plan=plan,
        expected_speedup=round(min(moved / needed, 20.0), 2) if needed else None,
        complexity="low",
        kernel_type=kernel_type,
        fallback=fallback,
    )


def _works(op: str, kind: str) -> bool:
    return op != GETITEM and kind not in ALIASES and kind not in VIEWS


def _moved_one_by_one(graph: Graph) -> int:
    """Every operator reads its operands and writes its result."""
    shapes = {leaf.name: leaf.shape or () for leaf in graph.leaves}
    shapes |= {node.name: node.shape or () for node in graph.nodes}
    moved = 0
    for node in graph.nodes:
        if _works(node.op, packet(node)):
            names = {*references([node.args, node.kwargs]), node.name}
            moved += sum(prod(shapes[name]) for name in names)
    return moved * _width(graph)


def _width(graph: Graph) -> int:
    """Bytes of an element of the widest input, which stands for all."""
    return max((_WIDTHS.get(leaf.dtype or "", 1) for leaf in graph.leaves if leaf.shape), default=4)


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.3g} GB" if count >= 1e7 else f"{count / 1e6:.3g} MB"
