"""CUDA graphs of the pretended GPU behave as on a real one: the same memory again, and nothing at capture."""

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import fake_graph_checks
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from tilesmith.worker.engines.recorder import recording
from tilesmith.worker.fake_cuda.pretend_cuda import pretend_cuda
from tilesmith.worker.fake_cuda.streams import begin_call, unjoined

HERE = Path(__file__).parent
SOURCE = HERE.parents[2] / "src"


@pytest.fixture(scope="module")
def checks():
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(SOURCE)}
    command = [
        sys.executable,
        str(HERE.parent / "engines/interpreter/run_checks.py"),
        str(HERE / "fake_graph_checks.py"),
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])["fake_graph_checks"]


def test_static_inputs_give_the_right_answer_for_every_shape_and_count_their_launches(checks):
    first, again = [True, 4, []], [True, 1, []]
    assert checks["inputs_copied_into_static_memory"] == [first, again, first, again, again]


def test_old_pointers_give_the_old_answer(checks):
    assert checks["old_pointers_give_the_old_answer"] == [True, False, True]


def test_weights_are_read_where_they_lay_at_capture(checks):
    assert checks["a_weight_changed_in_place_is_seen_and_a_new_one_is_not"] == [True, False]


def test_a_capture_computes_nothing_and_each_replay_everything(checks):
    captured, before, *after = checks["a_capture_computes_nothing"]
    assert captured == [True, False, 0]
    assert before == [True, 0.0]
    assert after == [24.0, 2.0, 2]


def test_a_graph_captured_in_the_constructor(checks):
    assert checks["captured_in_the_constructor"] == [[True, []], [True, []]]


def test_ordinary_modules(checks):
    results = checks["modules_as_people_write_them"]
    assert len(results) == 8
    assert all(results.values()), results


def test_indices_that_the_graph_computes_itself(checks):
    assert checks["indices_made_in_the_graph"] == [True, True]


def test_a_graph_within_a_graph_on_a_forked_stream(checks):
    assert checks["a_graph_within_a_graph_and_forked_streams"] == [[0.0] * 4, [3.0] * 4, []]


def test_graphed_callables_forward_and_backward(checks):
    assert checks["make_graphed_callables"] == [True, True, []]


def test_autotuned_kernels_can_be_captured_once_they_are_tuned(checks):
    assert checks["autotuned_after_warming_up"] == [10.0]


REFUSED = ("synchronize", "stream", "event", "item", "if", "cpu", "to cpu", "tolist", "numpy", "nonzero", "mask")


@pytest.mark.parametrize("what", [*REFUSED, "autotune", "capture"])
def test_what_a_gpu_refuses_while_capturing(checks, what):
    message, *after = checks["what_a_capture_refuses"][what]
    assert "operation not permitted when stream is capturing" in message
    assert after == [False, 0, 8.0]


def test_work_left_behind_by_a_capture_is_refused(checks):
    message, *after = checks["what_a_capture_refuses"]["unjoined"]
    assert "unjoined work" in message
    assert after == [False, 0, 8.0]


def test_misuse_is_told(checks):
    assert checks["an_abandoned_capture_ends_with_the_block"] == 6.0
    assert "without a preceding successful capture" in checks["replay_without_capture"]["message"]
    assert "non-default stream" in checks["capture_on_the_default_stream"]["message"]


def test_launches_and_replays_are_work_of_the_stream_they_are_made_on(checks):
    left, captured, replayed = checks["a_launch_on_a_side_stream_is_work"]
    assert "scale" in left[0]
    assert captured == []
    assert "replay" in replayed[0]


@pytest.mark.parametrize("translate", [True, False])
def test_under_fake_tensors_the_body_runs_as_it_is(translate):
    device = "cpu" if translate else "cuda"
    with pretend_cuda(translate=translate), FakeTensorMode():
        begin_call()
        x, graph = torch.empty(4, 8, device=device), torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = torch.relu(x) + 1
        graph.replay()
        assert y.shape == (4, 8)
        assert unjoined() == []


@pytest.mark.parametrize("tensors", [FakeTensorMode, nullcontext])
def test_where_launches_are_only_recorded_a_call_has_as_many_as_where_they_run(checks, tensors):
    with recording() as launches, pretend_cuda(), torch.no_grad(), tensors():
        fake_graph_checks.Graphed()(torch.ones(4, 50))
    _, launches_of_first_call, _ = checks["inputs_copied_into_static_memory"][0]
    assert len(launches) == launches_of_first_call
