"""Operators in another form give what PyTorch gives for them, and every node in between has the form it says."""

from __future__ import annotations

from typing import Any

import pytest
from playbook_children import Twins, find_problems, interpreting
from playbook_surveys import survey_task
from playbook_tasks import owner, task

from tilesmith.playbook import find_match
from tilesmith.playbook.plan.plan import Plan
from tilesmith.playbook.plan.rewriting.decompositions import decompose
from tilesmith.tasks.graph import GETITEM, Graph, Input, Node, reference

STATES, WEIGHTS, GATES = [[330, 512]] * 2, [[2048, 512]] * 2, [[2048]] * 2
CALLS: dict[str, list[tuple[list[list[int]], list[Any]]]] = {
    "glu.default": [([[4, 10, 3]], ["@0", 1])],
    "prelu.default": [([[3, 6, 5], [6]], ["@0", "@1"]), ([[3, 6, 5], [1]], ["@0", "@1"])],
    "nan_to_num.default": [([[9, 7]], ["@0", 2.0, None, -3.0])],
    "pixel_shuffle.default": [([[2, 18, 4, 5]], ["@0", 3])],
    "pixel_unshuffle.default": [([[2, 3, 4, 6]], ["@0", 2])],
    "im2col.default": [([[2, 3, 9, 8]], ["@0", [4, 2], [1, 1], [0, 0], [4, 2]])],
    "gru_cell.default": [([*STATES, *[[1536, 512]] * 2, *[[1536]] * 2], [f"@{i}" for i in range(6)])],
    "lstm_cell.default": [
        ([*STATES, *STATES[:1], *WEIGHTS, *GATES], ["@0", ["@1", "@2"], "@3", "@4", "@5", "@6"]),
        ([*STATES, *STATES[:1], *WEIGHTS], ["@0", ["@1", "@2"], "@3", "@4", None, None]),
    ],
    "var_mean.dim": [([[5, 6, 7]], ["@0", [0, 2], False, True]), ([[5, 6, 7]], ["@0", [1]])],
    "std_mean.correction": [([[5, 6]], ["@0", [-1]])],
    "var_mean.default": [([[5, 6]], ["@0", False])],
    "upsample_nearest2d.vec": [([[2, 3, 4, 5]], ["@0", [8, 15], None])],
    "upsample_bilinear2d.vec": [
        ([[2, 3, 4, 5]], ["@0", [7, 10], False, None]),
        ([[2, 3, 4, 5]], ["@0", None, False, [2.5, 1.3]]),
        ([[2, 3, 4, 5]], ["@0", [9, 3], True, None]),
    ],
    "tensordot.default": [
        ([[2, 3, 4, 5], [5, 6, 3]], ["@0", "@1", [1, 3], [2, 0]]),
        ([[3, 4], [4, 2, 2]], ["@0", "@1", [-1], [0]]),
    ],
    "einsum.default": [
        ([[2, 4, 3], [3, 3], [2, 5, 3]], ["bid,de,bje->bij", ["@0", "@1", "@2"]]),
        ([[2, 4], [2, 5], [2, 4, 5]], ["bi,bj,bij->b", ["@0", "@1", "@2"]]),
        ([[2, 4, 4]], ["bii->b", ["@0"]]),
        ([[2, 4, 5], [2, 5, 4]], ["bij,bji->b", ["@0", "@1"]]),
        ([[2, 4, 5], [5, 3, 6]], ["btd,dhk->bhtk", ["@0", "@1"]]),
        ([[2, 4, 5, 3], [2, 6, 5, 3]], ["bqhd,bkhd->bqk", ["@0", "@1"]]),
    ],
}  # fmt: skip
"""Operators, the shapes of tensors, and arguments, of which "@0" is the first tensor."""


def written_out(op: str, shapes: list[list[int]], arguments: list[Any]) -> list[str]:
    """What is wrong with an operator in its other form; what it is written as."""
    import torch

    torch.manual_seed(0)
    values: dict[str, Any] = {f"@{i}": torch.randn(shape) for i, shape in enumerate(shapes)}
    if op == "nan_to_num.default":
        values["@0"][0, :3] = torch.tensor([torch.nan, torch.inf, -torch.inf])

    def called(name: str, given: Any, options: dict[str, Any], held: dict[str, Any]) -> Any:
        packet, _, overload = name.removeprefix("aten.").partition(".")

        def plain(one: Any) -> Any:
            if isinstance(one, dict):
                return getattr(torch, one["dtype"]) if "dtype" in one else held[one["node"]]
            return [plain(part) for part in one] if isinstance(one, list | tuple) else one

        return getattr(getattr(torch.ops.aten, packet), overload)(*plain(list(given)), **plain_options(options))

    def plain_options(options: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in options.items() if value is not None}

    def told(one: Any) -> Any:
        if isinstance(one, list):
            return [told(part) for part in one]
        return {"node": one} if isinstance(one, str) and one.startswith("@") else one

    args = tuple(told(one) for one in arguments)
    result = called(op, args, {}, values)
    inputs = tuple(
        Input(name, name, (), tuple(value.shape), value.stride(), "float32") for name, value in values.items()
    )
    if isinstance(result, torch.Tensor):
        nodes = [Node("out", f"aten.{op}", args, {}, tuple(result.shape), "float32")]
        expected = {"out": result}
    else:
        nodes = [Node("both", f"aten.{op}", args, {}, None, None)]
        for i, one in enumerate(result):
            nodes.append(Node(f"out{i}", GETITEM, ({"node": "both"}, i), {}, tuple(one.shape), "float32"))
        expected = {f"out{i}": one for i, one in enumerate(result)}
    graph = decompose(Graph(inputs, (), tuple(nodes), [{"node": name} for name in expected]))
    problems = [] if all(node.op != f"aten.{op}" for node in graph.nodes) else [f"{op} stays"]
    for node in graph.nodes:
        values[node.name] = called(node.op, node.args, node.kwargs, values)
        if (tuple(values[node.name].shape), str(values[node.name].dtype)) != (node.shape, f"torch.{node.dtype}"):
            problems.append(f"{node.name} is {values[node.name].shape}, {values[node.name].dtype}, not {node}")
    outputs = [values[str(reference(one))] for one in graph.outputs]
    alike = (torch.allclose(a, b, atol=1e-4) for a, b in zip(outputs, expected.values(), strict=True))
    return problems if all(alike) else [*problems, f"{op} gives something else"]


def find_wrong(calls: dict[str, Any]) -> list[str]:
    return [problem for op, some in calls.items() for one in some for problem in written_out(op, *one)]


def test_operators_in_another_form_give_the_same() -> None:
    assert interpreting(find_wrong, CALLS) == []


ROTARY = owner("self.register_buffer('turns', torch.polar(torch.ones(90, 8), torch.randn(90, 8)))")
KERNELS = {
    "complex_numbers": (
        "return torch.view_as_real(torch.view_as_complex(x.float().unflatten(-1, (-1, 2))) * self.turns[:70])"
        ".flatten(-2).type_as(x)",
        "x = torch.randn(3, 70, 16).half()",
        (ROTARY, "16"),
        ["aten.view_as_real.default", "elementwise"],
    ),
    "last_steps": (
        "return x[torch.arange(x.shape[0]), last - 1] * 2",
        "x = torch.randn(31, 12, 45)\nlast = torch.randint(1, 13, (31,))",
        (),
        ["elementwise"],
    ),
    "bilinear": (
        "return torch.relu(F.interpolate(x, size=skip.shape[2:], mode='bilinear') + skip)",
        "x = torch.randn(2, 3, 9, 14)\nskip = torch.randn(2, 3, 20, 33)",
        (),
        ["elementwise"],
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_other_forms_join_the_kernels_around_them(name: str) -> None:
    body, inputs, owned, steps = KERNELS[name]
    text = task(body, inputs, *owned)
    plan = find_match(survey_task(name, text))
    assert isinstance(plan, Plan), plan
    found = [getattr(step, "recipe", None) or step.op for step in plan.forward.steps]
    assert [one for one in found if one not in ("aten.slice.Tensor", "aten.arange.default")] == steps
    assert interpreting(find_problems, text, plan.write(plan.tunings[0]), None, not owned) == []


def take_fewer(text: str, kernel: str) -> float:
    import torch

    return Twins(text, kernel).error(torch.randn(40, 50), torch.randint(0, 50, (23, 60)))


def test_rows_without_places_are_left_out() -> None:
    text = task("return torch.gather(x, 1, i).exp()", "x = torch.randn(40, 50)\ni = torch.randint(0, 50, (40, 60))")
    plan = find_match(survey_task("gather", text))
    assert isinstance(plan, Plan), plan
    assert interpreting(take_fewer, text, plan.write(plan.tunings[0])) < 1e-6
