"""The written module among its users: parameters as they are now, grids that fit, dropout that is not forgotten."""

from __future__ import annotations

from typing import Any

import pytest
from playbook_children import Twins, difference, interpreting
from playbook_surveys import match_recurrent, survey_task
from recurrent_tasks import TASKS, recurrent

CLOSE = 3e-3
"""More than tf32 does to a state within (-1, 1)."""


def kernel_for(text: str) -> str:
    match = match_recurrent(survey_task("task", text))
    return match.write(match.tunings[0])


def added_in_place(rnn: Any) -> None:
    rnn.weight_hh_l0.add_(0.3)


def scaled_through_data(rnn: Any) -> None:
    rnn.weight_ih_l0.data.mul_(2)


def bias_filled(rnn: Any) -> None:
    rnn.bias_hh_l0.fill_(0.5)


def parameter_replaced(rnn: Any) -> None:
    rnn.weight_hh_l0 = type(rnn.weight_hh_l0)(rnn.weight_hh_l0.flip(0))


def data_replaced(rnn: Any) -> None:
    rnn.weight_hh_l0.data = rnn.weight_hh_l0.data * -2


def state_loaded(rnn: Any) -> None:
    rnn.load_state_dict({name: -value for name, value in rnn.state_dict().items()})


def state_assigned(rnn: Any) -> None:
    rnn.load_state_dict({name: value * 0.5 for name, value in rnn.state_dict().items()}, assign=True)


def parameter_replaced_by_a_strided_one(rnn: Any) -> None:
    rnn.weight_hh_l0 = type(rnn.weight_hh_l0)(rnn.weight_hh_l0.flip(1).mul(4).t().contiguous().t())


CHANGES = (
    added_in_place,
    scaled_through_data,
    bias_filled,
    parameter_replaced,
    data_replaced,
    state_loaded,
    state_assigned,
    parameter_replaced_by_a_strided_one,
)


def run_after_each_change(task: str, kernel: str) -> dict[str, tuple[float, float]]:
    """By change: how far the written model is from the task's, and how far that one moved."""
    import torch

    twins = Twins(task, kernel)
    inputs = twins.loaded.make_inputs(seed=0).args
    assert twins.error(*inputs) < CLOSE
    found = {}
    for change in CHANGES:
        before = twins.expected(*inputs)
        with torch.no_grad():
            change(twins.reference.rnn)
            change(twins.written.rnn)
        found[change.__name__] = (twins.error(*inputs), difference(before, twins.expected(*inputs)))
    return found


@pytest.mark.parametrize("layer", ["nn.GRU(width, hidden, 2)", "nn.GRU(width, hidden, bidirectional=True)"])
def test_a_change_of_parameters_is_noticed(layer: str) -> None:
    task = recurrent("return self.rnn(x)[0]", layer=layer)
    found = interpreting(run_after_each_change, task, kernel_for(task))
    assert {change: moved for change, (_, moved) in found.items() if moved < 10 * CLOSE} == {}
    assert {change: error for change, (error, _) in found.items() if error > CLOSE} == {}


def run_where_not_all_fit(task: str, kernel: str, batch: int, multiprocessors: int) -> tuple[str, float]:
    """What the call says, and the error of the next one, which fits."""
    import torch

    twins = Twins(task, kernel)
    width = twins.reference.rnn.input_size
    try:
        twins.outputs(torch.randn(1, batch, width), multiprocessors=multiprocessors)
    except RuntimeError as refusal:
        return str(refusal), twins.error(torch.randn(4, 2, width))
    return "", 0.0


@pytest.mark.parametrize("layer", ["nn.GRU(width, hidden, 3)", "nn.GRU(width, hidden, bidirectional=True)"])
@pytest.mark.parametrize(("batch", "multiprocessors"), [(2000, 132), (2, 1)])
def test_more_programs_than_run_at_once_are_refused(layer: str, batch: int, multiprocessors: int) -> None:
    task = recurrent("return self.rnn(x)[0]", layer=layer)
    kernel = kernel_for(task)
    said, error = interpreting(run_where_not_all_fit, task, kernel, batch, multiprocessors)
    assert "programs wait for one another" in said
    assert f"{multiprocessors} at once" in said
    assert error < CLOSE


def run_without_peers(task: str, kernel: str) -> str:
    """What ends a program whose peers never start, where it may ask for their words a few times only."""
    import torch
    import triton.language as tl

    twins = Twins(task, kernel)
    twins.module.MOST_POLLS = tl.constexpr(3)
    twins.written.rnn.grid = lambda x, count: (1, 1, count)
    try:
        twins.outputs(torch.randn(5, 2, twins.reference.rnn.input_size))
    except Exception as end:
        return str(end)
    return "nothing"


@pytest.mark.parametrize("layer", ["nn.GRU(width, hidden, 2)", "nn.GRU(width, hidden, bidirectional=True)"])
def test_nobody_waits_for_ever(layer: str) -> None:
    task = recurrent("return self.rnn(x)[0]", layer=layer, sizes=(5, 2, 5, 40))
    assert "trap" in interpreting(run_without_peers, task, kernel_for(task))


def run_in_training(task: str, kernel: str) -> str:
    """What a written model says when dropout between its layers is turned on."""
    twins = Twins(task, kernel)
    twins.written.train()
    try:
        twins.outputs(*twins.loaded.make_inputs(seed=0).args)
    except AssertionError as refusal:
        return str(refusal)
    return ""


def test_dropout_is_not_left_out_silently() -> None:
    task = recurrent("return self.rnn(x)[0]", layer="nn.GRU(width, hidden, 2, dropout=0.3)")
    assert "dropout" in interpreting(run_in_training, task, kernel_for(task))


def run_layer_alone(task: str, kernel: str) -> tuple[bool, bool]:
    """Whether the two results of the written layer are numbers."""
    twins = Twins(task, kernel)
    twins.written = twins.written.rnn
    y, h = twins.outputs(*twins.loaded.make_inputs(seed=0).args)
    return bool(y.isfinite().all()), bool(h.isfinite().any())


def test_a_result_that_the_task_did_not_use_is_no_number() -> None:
    task = recurrent("return self.rnn(x)[0]")
    assert interpreting(run_layer_alone, task, kernel_for(task)) == (True, False)


def strides_of_both(task: str, kernel: str) -> list[list[tuple[int, ...]]]:
    twins = Twins(task, kernel)
    inputs = twins.loaded.make_inputs(seed=0).args
    return [[one.stride() for one in results(*inputs)] for results in (twins.outputs, twins.expected)]


@pytest.mark.parametrize("name", ["batch_first", "batch_first_both_directions"])
def test_results_are_laid_out_as_pytorch_does(name: str) -> None:
    own, expected = interpreting(strides_of_both, TASKS[name], kernel_for(TASKS[name]))
    assert own == expected
