"""Which steps torch takes, and when they are all of a task's."""

from __future__ import annotations

import torch
from torch import nn

from tilesmith.worker.task.torch_steps import TorchStepLog, covers


def steps_of(function: object, *inputs: torch.Tensor) -> list[tuple[str, int]]:
    with torch.no_grad(), TorchStepLog() as steps:
        function(*inputs)  # type: ignore[operator]
    return steps.taken


def test_moving_values_is_no_step() -> None:
    x = torch.rand(4, 6)
    assert steps_of(lambda x: x.t().contiguous().view(-1)[:3].clone(), x) == []
    assert steps_of(lambda x: torch.softmax(x, -1), x) == [("softmax", 24)]


def test_other_names_for_the_same_step() -> None:
    x, layer = torch.rand(4, 6), nn.Linear(6, 3)
    assert covers(steps_of(lambda x: x @ layer.weight.t(), x), steps_of(layer, x))


def test_a_hybrid_takes_some_steps_only() -> None:
    x, layer = torch.rand(4, 6), nn.Linear(6, 3)
    task = steps_of(lambda x: torch.relu(layer(x)), x)
    assert not covers(steps_of(layer, x), task)
    assert covers(steps_of(lambda x: torch.relu(layer(x)) * 2, x), task)


def test_row_by_row_is_the_same_work_and_a_small_part_is_not() -> None:
    x = torch.rand(40, 6)
    task = steps_of(lambda x: torch.softmax(x, -1), x)
    assert covers(steps_of(lambda x: [torch.softmax(row, -1) for row in x], x), task)
    assert not covers(steps_of(lambda x: torch.softmax(x[:20], -1), x), task)


def test_a_task_without_steps_cannot_be_covered() -> None:
    assert not covers([("softmax", 10)], [])
