"""A pass from a CUDA graph answers as the pass itself does, and is offered only where that is so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from graph_network import FORWARD, LAYERS, NETWORK, graphed, plan_of
from playbook_tasks import owner, task

from tilesmith.judge import Judge
from tilesmith.playbook.tuning import find_tuning
from tilesmith.records import Verdict

HERE = Path(__file__).parent
INPUT = "x = torch.randn(2, 5, 24)"
STEP = "y = F.scaled_dot_product_attention(y, y, torch.sort(y, -1).values)\n"
FUNCTION = f"y = torch.relu(x) * 2\n{STEP * 3}return torch.tanh(y) * 2"


@pytest.fixture(scope="module")
def checks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    plan, folder = plan_of("network", NETWORK), tmp_path_factory.mktemp("graphs")
    (folder / "task.py").write_text(NETWORK)
    (folder / "kernel.py").write_text(plan.write(graphed(plan)))
    source = HERE.parents[2] / "src"
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(source), "WRITTEN_FOLDER": str(folder)}
    runner = HERE.parents[1] / "worker" / "engines" / "interpreter" / "run_checks.py"
    command = [sys.executable, str(runner), str(HERE / "graph_checks.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])["graph_checks"]


def test_the_judge_passes_it(judge: Judge, tmp_path: Path) -> None:
    plan = plan_of("network", NETWORK)
    (tmp_path / "task.py").write_text(NETWORK)
    (tmp_path / "kernel.py").write_text(plan.write(graphed(plan)))
    evaluation = judge.check(tmp_path / "task.py", tmp_path / "kernel.py")
    assert evaluation.verdict is Verdict.PASSED, evaluation.reason
    assert not any(finding.severity == "error" for finding in evaluation.findings), evaluation.findings
    assert "side-stream" not in {finding.id for finding in evaluation.findings}


def test_its_tuning_is_read_back() -> None:
    plan = plan_of("network", NETWORK)
    assert find_tuning(plan, plan.write(graphed(plan))) == graphed(plan)
    assert "CUDA graph" in plan.strategy(graphed(plan))
    assert "GRAPHS" not in plan.write(plan.tunings[0])


def test_new_inputs_are_copied_in_and_answers_out(checks: dict[str, Any]) -> None:
    right, (first, *later), shares = checks["new_inputs_are_replayed"]
    assert right == [True, True, True]
    assert first > later[0] > 0
    assert later[0] == later[1]
    assert not shares


def test_memory_is_bounded(checks: dict[str, Any]) -> None:
    assert checks["each_shape_has_a_graph_and_the_oldest_goes"] == [True, [1, 5, 6, 2], True, 4]


def test_changed_weights_are_seen(checks: dict[str, Any]) -> None:
    assert checks["changed_weights"] == [True] * 7


def test_gradients_and_outer_graphs_get_the_plain_pass(checks: dict[str, Any]) -> None:
    assert checks["where_there_is_no_graph"] == [True, True, True]


def test_inference_mode_has_graphs_of_its_own(checks: dict[str, Any]) -> None:
    assert checks["inference_mode_has_graphs_of_its_own"] == [[True, True, True], 2]


def test_graphs_go_with_their_model(checks: dict[str, Any]) -> None:
    assert checks["models_are_let_go"] == [1, 0]


@pytest.mark.parametrize(
    ("forward", "inputs", "constructor"),
    [
        ("return x + torch.tanh(x) * 0.5", INPUT, LAYERS),  # too few launches
        (FUNCTION, INPUT, owner("self.size = size")),  # no weights
        (FORWARD + "return z + torch.rand_like(x)", INPUT, LAYERS),
        (FORWARD + "x.add_(1)\nreturn z", INPUT, LAYERS),
        (FORWARD + "self.scale_now = z\nreturn z * 2", INPUT, LAYERS),
        (FORWARD + "return z * 2, x", INPUT, LAYERS),
        (FORWARD + "return z * 2, x.view(-1)", INPUT, LAYERS),
        ("x = pair[0]\n" + FORWARD + "return z * 2", "pair = [torch.randn(2, 5, 24)]", LAYERS),
        (FORWARD + "return z * 2", INPUT, LAYERS + "\n    self.forward_without_graph = None"),
    ],
)
def test_a_pass_that_cannot_be_repeated_has_no_graph(forward: str, inputs: str, constructor: str) -> None:
    parts = plan_of("other", task(forward, inputs, constructor, "24")).parts
    assert all(part.is_kernel for part in parts)


def test_a_pass_that_can_be_repeated_has_one() -> None:
    forward = FORWARD + "z = z.clone()\nz[0] = 1.0\nreturn z * 2"
    parts = plan_of("clean", task(forward, INPUT, LAYERS, "24")).parts
    assert [part.is_kernel for part in parts][-1] is False
