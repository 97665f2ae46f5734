"""Programs that wait for one another, in many orders and over many calls: PyTorch's values always the same bits."""

from __future__ import annotations

import pytest
from golden_texts import first_of_each_kind
from playbook_children import Twins, difference, interpreting
from playbook_judging import some_of
from playbook_surveys import match_recurrent, survey_task
from recurrent_tasks import cell_task, recurrent

SEEDS = [(0, 1), pytest.param((0, 2, 3, 4), marks=pytest.mark.slow_suite)]
"""Of the interpreter's schedules; 0 is the natural order, any other lets chance decide who runs next."""
TOLERANCE = {"wave": 3e-3, "layer": 3e-3, "exact": 1e-5}
"""What rounding does to a state within (-1, 1). The state of another step would be wrong by tenths."""
LONG = 150
"""Steps: more than twice the ring of a wave, so that its slots are written again."""

ORDERS = {
    "wave": (cell_task("gru", 3, False, True, (LONG, 2, 5, 16)), "wave"),
    "wave_of_several_parts": (cell_task("lstm", 3, False, True, (20, 2, 5, 33)), "wave"),
    "wave_of_full_float32": (cell_task("rnn_tanh", 2, False, True, (LONG, 2, 5, 16)), "exact"),
    "both_directions": (cell_task("gru", 1, True, True, (12, 9, 5, 17)), "layer"),
    "layer_by_layer": (cell_task("lstm", 2, False, False, (12, 2, 5, 17)), "layer"),
}
CALLS = ((5, 2), (LONG, 2), (1, 2), (3, 3), (70, 2), (2, 1), (6, 3))
"""Steps and sequences of calls in a row."""


def kernel_for(text: str, kind: str) -> str:
    """The first written file of a kind: wave, layer or exact (a wave with full float32 products)."""
    match = match_recurrent(survey_task("task", text))
    tuning = first_of_each_kind(match)[kind]
    assert ("LAYERS_AT_ONCE" in tuning) == (kind != "layer")
    return match.write(tuning)


def run_in_orders(task: str, kernel: str, seeds: tuple[int, ...]) -> tuple[float, bool]:
    """The error under the first seed, and whether all seeds gave the same bits."""
    import torch

    twins = Twins(task, kernel)
    inputs = twins.loaded.make_inputs(seed=0).args
    results = [twins.outputs(*inputs, schedule=seed) for seed in seeds]
    are_same = all(torch.equal(a, b) for other in results for a, b in zip(other, results[0], strict=True))
    return difference(results[0], twins.expected(*inputs)), are_same


def run_in_a_row(task: str, kernel: str, calls: tuple[tuple[int, int], ...]) -> list[float]:
    """The error of each call of one model, every one with its own sizes and in another order."""
    import torch

    torch.manual_seed(0)
    twins = Twins(task, kernel)
    width = twins.reference.rnn.input_size
    return [twins.error(torch.randn(time, batch, width), schedule=seed) for seed, (time, batch) in enumerate(calls)]


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize(
    "name", some_of(ORDERS, ["wave_of_several_parts", "wave_of_full_float32", "both_directions"])
)
def test_the_order_of_programs_does_not_matter(name: str, seeds: tuple[int, ...]) -> None:
    task, kind = ORDERS[name]
    error, are_same = interpreting(run_in_orders, task, kernel_for(task, kind), seeds)
    assert error < TOLERANCE[kind]
    assert are_same


@pytest.mark.parametrize(
    ("layer", "kind"),
    [
        ("nn.GRU(width, hidden, 3)", "wave"),
        ("nn.LSTM(width, hidden, 2)", "exact"),
        pytest.param("nn.GRU(width, hidden, bidirectional=True)", "layer", marks=pytest.mark.slow_suite),
    ],
)
def test_calls_of_other_sizes_in_a_row(layer: str, kind: str) -> None:
    task = recurrent("y, h = self.rnn(x)\nreturn y, h", layer=layer, sizes=(4, 2, 5, 16))
    errors = interpreting(run_in_a_row, task, kernel_for(task, kind), CALLS)
    assert max(errors) < TOLERANCE[kind], errors


def test_calls_of_many_batch_sizes() -> None:
    """More than the model keeps a ring for."""
    task = recurrent("return self.rnn(x)[0]", layer="nn.GRU(width, hidden, 2)", sizes=(4, 2, 5, 7))
    calls = (*((2, batch) for batch in range(1, 26)), (3, 1), (4, 25), (2, 24))
    errors = interpreting(run_in_a_row, task, kernel_for(task, "wave"), calls)
    assert max(errors) < TOLERANCE["wave"], errors


def run_over_the_end_of_the_clock(task: str, kernel: str, times: tuple[int, ...]) -> list[float]:
    """The error of each call after so many steps that the clock of the ring starts anew."""
    import torch

    twins = Twins(task, kernel)
    hidden, width = twins.reference.rnn.hidden_size, twins.reference.rnn.input_size
    ring_size, tags = twins.module.RING.value, twins.module.TAG.value
    inputs = [torch.randn(time, 2, width) for time in times]
    errors = [twins.error(inputs[0])]
    for ring, clock in [kept for kept in twins.written.rnn.workspaces.values() if isinstance(kept, tuple)]:
        now = ring_size * 65536 - 3
        clock[0] = now
        slots = ring.view(-1, ring_size, 2 * hidden)
        for step in range(now - ring_size, now):
            slots[:, step % ring_size] = (step // ring_size + 1) & tags
    return errors + [twins.error(one, schedule=1) for one in inputs[1:]]


@pytest.mark.parametrize(
    ("layer", "kind"),
    [
        ("nn.GRU(width, hidden, 2)", "wave"),
        ("nn.GRU(width, hidden, 2)", "exact"),
        ("nn.GRU(width, hidden, bidirectional=True)", "layer"),
    ],
)
def test_the_clock_may_start_anew(layer: str, kind: str) -> None:
    task = recurrent("return self.rnn(x)[0]", layer=layer, sizes=(4, 2, 5, 16))
    errors = interpreting(run_over_the_end_of_the_clock, task, kernel_for(task, kind), (4, 9, 2, 70))
    assert max(errors) < TOLERANCE[kind], errors


def test_a_step_that_is_chosen_by_its_number() -> None:
    """It is the last one of the task's sequence, but not of a longer one."""
    task = recurrent("y, _ = self.rnn(x)\nreturn y[3]", sizes=(4, 2, 5, 7))
    errors = interpreting(run_in_a_row, task, kernel_for(task, "layer"), ((4, 2), (6, 2)))
    assert max(errors) < TOLERANCE["layer"], errors
