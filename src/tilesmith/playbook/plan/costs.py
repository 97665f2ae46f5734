"""What operators cost PyTorch, one by one: bytes, FLOPs, and the time that they take at least on a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tilesmith.playbook.graph.operators import CONVOLUTIONS, called, is_free, operator_name
from tilesmith.playbook.plan.analysis import LAUNCH_MS, bytes_of
from tilesmith.playbook.plan.effects import ENTER, EXIT
from tilesmith.records import GpuPeaks, Survey
from tilesmith.tasks.graph import Graph, Node, reference, references

_PRODUCTS = {"matmul": 0, "mm": 0, "bmm": 0, "addmm": 1, "baddbmm": 1}
"""Operators that sum over the last dimension of an operand, and the place of that operand."""

_RECURRENT = ("gru", "lstm", "rnn_tanh", "rnn_relu")

Shapes = Mapping[str, tuple[int, ...]]


def shapes_of(graph: Graph) -> Shapes:
    return {value.name: value.shape or () for value in (*graph.leaves, *graph.nodes)}


def is_work(graph: Graph, node: Node) -> bool:
    """Whether an operator does more than name memory that is there already."""
    is_name = is_free(node) or (node.name in graph.memory and node.name not in graph.writes)
    return not is_name and node.op not in (ENTER, EXIT)


def flops_of(node: Node, shapes: Shapes) -> int | None:
    """Two for each multiplication that is added up; one for each element of what is not a product."""
    operands = [shapes.get(reference(one) or "", ()) for one in node.args]
    kind, out = operator_name(node), prod(node.shape or ())
    if kind == "linear":
        return 2 * out * operands[1][-1]
    if kind in _PRODUCTS:
        return 2 * out * operands[_PRODUCTS[kind]][-1]
    if kind in CONVOLUTIONS:
        return 2 * (prod(operands[0]) if "transpose" in kind else out) * prod(operands[1][1:])
    if called(node) == "attention":
        query, key, value = operands[:3]
        return 2 * prod(query[:-1]) * key[-2] * (query[-1] + value[-1])
    if kind in _RECURRENT and node.op.endswith(".input"):
        weights = [shapes[name] for name in references([node.args[2]])]
        return 2 * prod(operands[0][:-1]) * sum(prod(one) for one in weights if len(one) == 2)
    if node.shape is None or not node.op.startswith("aten.") or kind == "einsum":
        return None
    return max([out, *map(prod, (one for one in operands if one))])


def pytorch_ms(graph: Graph, gpu: GpuPeaks) -> dict[str, float]:
    """For every operator that works the least time of its own launch: operands and result moved, arithmetic at the
    peak of its type."""
    values = {one.name: one for one in (*graph.leaves, *graph.nodes)}
    shapes = shapes_of(graph)
    found: dict[str, float] = {}
    for node in graph.nodes:
        if is_work(graph, node):
            names = {*references([node.args, node.kwargs]), node.name}
            moved = sum(bytes_of(values[name].shape, values[name].dtype) for name in names)
            dtypes = [values[name].dtype for name in (node.name, *references(node.args))]
            memory = moved / (gpu.memory_gb_per_s * 1e9) * 1e3
            arithmetic = (
                (flops_of(node, shapes) or 0)
                / (_peak_tflops(node, next(filter(None, dtypes), None), gpu) * 1e12)
                * 1e3
            )
            found[node.name] = max(memory, arithmetic, LAUNCH_MS)
    return found


def _peak_tflops(node: Node, dtype: str | None, gpu: GpuPeaks) -> float:
    """Of the units that PyTorch uses unless it is told otherwise: TF32 in cuDNN, not in products."""
    if dtype in ("float16", "bfloat16"):
        return gpu.fp16_tflops
    if dtype == "float64":
        return gpu.fp64_tflops
    by_cudnn = operator_name(node) in (*CONVOLUTIONS, *_RECURRENT)
    return (gpu.tf32_tflops or gpu.fp32_tflops) if by_cudnn else gpu.fp32_tflops


def tell_time(survey: Survey) -> str:
    """Where the time of a task goes, in one clause with numbers."""
    graph, gpu, floor = survey.graph, survey.gpu, survey.roofline
    if graph is None:
        known = f"takes {floor.floor_ms:.3g} ms at least on {floor.gpu}" if floor else "cannot be measured here"
        return f"the whole task {known}"
    times = pytorch_ms(graph, gpu) if gpu else {}
    if gpu is None or not times:
        return "nothing is computed" if gpu else f"{len(graph.nodes)} operators, on a GPU that is not known"
    total = sum(times.values())
    by_operator: dict[str, list[float]] = {}
    for node in graph.nodes:
        if node.name in times:
            by_operator.setdefault(called(node), []).append(times[node.name])
    name, most = max(by_operator.items(), key=lambda item: sum(item[1]))
    calls = f"one {name}" if len(most) == 1 else f"{len(most)} calls of {name}"
    launches = ", where a launch is all the time" if max(times.values()) == LAUNCH_MS else ""
    how = f"by roofline on {gpu.name}{launches}; nothing was timed"
    return f"{sum(most) / total:.0%} of PyTorch's {total:.3g} ms is {calls} ({how})"
