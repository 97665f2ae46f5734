"""What a persistent kernel lives on: weights in registers, programs that all run, parameters as they are now."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from recurrent_tasks import Written, cell_task, compiling, difference, interpreting, matched, recurrent

from tilesmith.judge import Judge
from tilesmith.playbook.recurrent.layer import DTYPES, GATES, RecurrentLayer
from tilesmith.playbook.recurrent.planning import Plan, chunks, expected_ms, plans, rows_per_unit

EXAMPLES = Path(__file__).parents[2] / "examples"
MULTIPROCESSORS = {"sm_80": 108, "sm_90": 132, "sm_100": 148}
"""Of an A100, an H200 and a B200."""
MOST_REGISTERS = 255
CLOSE = 3e-3
"""More than tf32 does to a state within (-1, 1)."""

SIX_LAYERS = {
    "gru": "nn.GRU(input_size, hidden_size, num_layers)",
    "lstm": "nn.LSTM(input_size, hidden_size, num_layers)",
    "rnn": "nn.RNN(input_size, hidden_size, num_layers)",
    "both_directions": "nn.GRU(input_size, hidden_size, num_layers, bidirectional=True)",
}
"""In place of the GRU in the example."""
STATEFUL = {
    "lstm_of_384": cell_task("lstm", 4, False, True, (512, 4, 384, 384)),
    "lstm_of_300": cell_task("lstm", 1, False, True, (512, 9, 300, 300)),
    "rnn_of_1024": cell_task("rnn_tanh", 1, False, True, (512, 16, 512, 1024)),
    "gru_of_1024": cell_task("gru", 1, False, True, (512, 16, 512, 1024)),
}
"""Large layers from a given state."""


def example(name: str) -> str:
    """The task of examples/gru.py with another layer."""
    text = (EXAMPLES / "gru.py").read_text()
    assert text.count(SIX_LAYERS["gru"]) == 1
    text = text.replace(SIX_LAYERS["gru"], SIX_LAYERS[name])
    if name == "both_directions":
        text = text.replace("torch.randn(num_layers, ", "torch.randn(2 * num_layers, ")
    return text.replace("self.gru(x, h0)", "self.gru(x, (h0, torch.tanh(h0)))") if name == "lstm" else text


class Unwatched:
    """For kernels of our own, in a process that goes on to other work: a tripwire cannot be taken down."""

    def __init__(self, *_: Any) -> None:
        self.over_candidate_code = nullcontext


def compiled(task: str, kernel: str, target: str, folder: str) -> list[dict[str, Any]]:
    """What every kernel of a forward pass at the task's own shape needs on a GPU."""
    os.environ["TRITON_CACHE_DIR"] = f"{folder}/triton"
    from tilesmith.process.channel import Channel
    from tilesmith.worker.roles import compiler as children
    from tilesmith.worker.task.loading import load_task
    from tilesmith.worker.tensors import exchange
    from tilesmith.worker.truth.variant import input_shapes

    loaded, blueprint = load_task(f"{folder}/task.py", task), f"{folder}/blueprint"
    plan = {"args": loaded.init_args, "kwargs": loaded.init_kwargs, "inputs": input_shapes(loaded)}
    exchange.write_trusted(blueprint, plan)
    ours, _theirs = socket.socketpair()
    children.Watch = Unwatched
    compiler = children.Compiler(Channel(ours))
    compiler.load(f"{folder}/kernel.py", kernel, "cpu", target, "default", task="")
    compiler.record_exact(blueprint)
    resources: list[dict[str, Any]] = compiler.compile()["resources"]
    return resources


def assert_in_registers(judge: Judge, folder: Path, text: str, target: str) -> None:
    """The first tuning for a GPU keeps everything in registers there."""
    task = folder / "task.py"
    task.write_text(text)
    survey = judge.survey(task)
    match = matched(replace(survey, gpu=replace(survey.gpu, multiprocessors=MULTIPROCESSORS[target])))
    kernels = compiling(compiled, text, match.write(match.tunings[0]), target, str(folder))
    assert any(kernel["kernel"] == f"{match.layer.cell}_kernel" for kernel in kernels)
    assert {kernel["kernel"]: kernel["spills"] for kernel in kernels if kernel["spills"]} == {}, match.tunings[0]
    assert all(kernel["registers"] <= MOST_REGISTERS for kernel in kernels)


@pytest.mark.parametrize("name", SIX_LAYERS)
@pytest.mark.parametrize("target", MULTIPROCESSORS)
def test_six_layers_spill_no_registers(name: str, target: str, judge: Judge, tmp_path: Path) -> None:
    assert_in_registers(judge, tmp_path, example(name), target)


@pytest.mark.parametrize("name", STATEFUL)
def test_large_layers_from_a_state_spill_no_registers(name: str, judge: Judge, tmp_path: Path) -> None:
    assert_in_registers(judge, tmp_path, STATEFUL[name], "sm_90")


def test_half_precision_is_compiled_at_the_full_shape(judge: Judge, tmp_path: Path) -> None:
    text = example("gru").replace(SIX_LAYERS["gru"], f"{SIX_LAYERS['gru']}.half()")
    assert_in_registers(judge, tmp_path, text.replace("_size),", "_size).half(),"), "sm_90")


HIDDEN = (16, 17, 33, 64, 100, 129, 256, 300, 511, 512, 1000, 1024, 1500, 2048)
BATCHES = (1, 2, 8, 9, 16, 17, 64, 100, 256)
LAYERS = (1, 2, 3, 6, 8)


@pytest.fixture(scope="module")
def any_layer(judge: Judge, tmp_path_factory: pytest.TempPathFactory) -> RecurrentLayer:
    """A layer as it is read off a task; tests change its cell, type and sizes."""
    task = tmp_path_factory.mktemp("layer") / "task.py"
    task.write_text(cell_task("gru", 2, False, True, (512, 2, 5, 7)))
    return matched(judge.survey(task)).layer


def layers_like(layer: RecurrentLayer, cell: str, dtype: str) -> Iterator[RecurrentLayer]:
    for hidden, batch, count, directions in product(HIDDEN, BATCHES, LAYERS, (1, 2)):
        yield replace(
            layer,
            cell=cell,
            dtype=dtype,
            batch=batch,
            input_size=hidden // 2 + 1,
            hidden_size=hidden,
            num_layers=count,
            directions=directions,
            wants_c=cell == "lstm",
        )


def programs(layer: RecurrentLayer, plan: Plan) -> int:
    """That wait for one another in one launch."""
    sharing = -(-layer.hidden_size // plan.units) * -(-layer.batch // plan.batch)
    return sharing * (plan.layers_at_once or layer.directions)


def assert_sound(layer: RecurrentLayer, plan: Plan, multiprocessors: int, is_exact: bool) -> None:
    assert 1 <= programs(layer, plan) <= multiprocessors
    for size in (plan.units, plan.batch, plan.warps):
        assert size > 0
        assert size & (size - 1) == 0
    assert plan.units * rows_per_unit(layer) >= 16, "rows of a product on tensor cores"
    assert plan.batch >= 8, "columns of one"
    assert chunks(layer, plan) in (1, 2)
    assert plan.words in (("float32",) if is_exact else ("tf32", "float32")) or plan.words == layer.dtype
    if plan.layers_at_once is not None:
        assert layer.directions == 1
        assert 2 <= plan.layers_at_once <= layer.num_layers
    assert expected_ms(layer, plan) > 0


@pytest.mark.parametrize("cell", GATES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_programs_of_every_plan_run_at_once(cell: str, dtype: str, any_layer: RecurrentLayer) -> None:
    planned = 0
    for layer in layers_like(any_layer, cell, dtype):
        for multiprocessors, is_exact in ((132, False), (132, True), (20, False)):
            found = plans(layer, multiprocessors, is_exact)
            for plan in found:
                assert_sound(layer, plan, multiprocessors, is_exact)
            assert len({plan.tuning for plan in found}) == len(found)
            planned += bool(found)
    assert planned > 300


def test_plans_depend_on_nothing_else(any_layer: RecurrentLayer) -> None:
    for layer in layers_like(any_layer, "lstm", "float32"):
        assert plans(layer, 132, False) == plans(replace(layer), 132, False)


def test_the_best_guess_comes_first(any_layer: RecurrentLayer) -> None:
    for layer in layers_like(any_layer, "gru", "float32"):
        times = [expected_ms(layer, plan) for plan in plans(layer, 132, False) if plan.words == "tf32"]
        assert times == sorted(times)


def kernel_for(judge: Judge, folder: Path, text: str) -> str:
    task = folder / "task.py"
    task.write_text(text)
    match = matched(judge.survey(task))
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

    twins = Written(task, kernel)
    inputs = twins.loaded.make_inputs(seed=0)
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
def test_a_change_of_parameters_is_noticed(layer: str, judge: Judge, tmp_path: Path) -> None:
    task = recurrent("return self.rnn(x)[0]", layer=layer)
    found = interpreting(run_after_each_change, task, kernel_for(judge, tmp_path, task))
    assert {change: moved for change, (_, moved) in found.items() if moved < 10 * CLOSE} == {}
    assert {change: error for change, (error, _) in found.items() if error > CLOSE} == {}


def run_where_not_all_fit(task: str, kernel: str, batch: int, multiprocessors: int) -> tuple[str, float]:
    """What the call says, and the error of the next one, which fits."""
    import torch

    twins = Written(task, kernel)
    width = twins.reference.rnn.input_size
    try:
        twins.outputs(torch.randn(1, batch, width), multiprocessors=multiprocessors)
    except RuntimeError as refusal:
        return str(refusal), twins.error(torch.randn(4, 2, width))
    return "", 0.0


@pytest.mark.parametrize("layer", ["nn.GRU(width, hidden, 3)", "nn.GRU(width, hidden, bidirectional=True)"])
@pytest.mark.parametrize(("batch", "multiprocessors"), [(2000, 132), (2, 1)])
def test_more_programs_than_run_at_once_are_refused(
    layer: str, batch: int, multiprocessors: int, judge: Judge, tmp_path: Path
) -> None:
    task = recurrent("return self.rnn(x)[0]", layer=layer)
    kernel = kernel_for(judge, tmp_path, task)
    said, error = interpreting(run_where_not_all_fit, task, kernel, batch, multiprocessors)
    assert "programs wait for one another" in said
    assert f"{multiprocessors} at once" in said
    assert error < CLOSE


def run_without_peers(task: str, kernel: str) -> str:
    """What ends a program whose peers never start, where it may ask for their words a few times only."""
    import torch
    import triton.language as tl

    twins = Written(task, kernel)
    twins.module.MOST_POLLS = tl.constexpr(3)
    twins.written.rnn.grid = lambda x, count: (1, 1, count)
    try:
        twins.outputs(torch.randn(5, 2, twins.reference.rnn.input_size))
    except Exception as end:
        return str(end)
    return "nothing"


@pytest.mark.parametrize("layer", ["nn.GRU(width, hidden, 2)", "nn.GRU(width, hidden, bidirectional=True)"])
def test_nobody_waits_for_ever(layer: str, judge: Judge, tmp_path: Path) -> None:
    task = recurrent("return self.rnn(x)[0]", layer=layer, sizes=(5, 2, 5, 40))
    assert "trap" in interpreting(run_without_peers, task, kernel_for(judge, tmp_path, task))


def run_in_training(task: str, kernel: str) -> str:
    """What a written model says when dropout between its layers is turned on."""
    twins = Written(task, kernel)
    twins.written.train()
    try:
        twins.outputs(*twins.loaded.make_inputs(seed=0))
    except AssertionError as refusal:
        return str(refusal)
    return ""


def test_dropout_is_not_left_out_silently(judge: Judge, tmp_path: Path) -> None:
    task = recurrent("return self.rnn(x)[0]", layer="nn.GRU(width, hidden, 2, dropout=0.3)")
    assert "dropout" in interpreting(run_in_training, task, kernel_for(judge, tmp_path, task))
