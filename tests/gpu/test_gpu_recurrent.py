"""The kernels written for recurrent layers on a real GPU: right at the shapes of their tasks and at others."""

from __future__ import annotations

import sys
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from tilesmith.config import CheckConfig
from tilesmith.errors import TaskError
from tilesmith.judge import Judge
from tilesmith.judge.machine.devices import gpu_present
from tilesmith.records import Evaluation, Verdict

sys.path.insert(0, str(Path(__file__).parents[1] / "playbook"))

from playbook_surveys import match_recurrent
from recurrent_tasks import TASKS

ON_GPU = {
    name: text
    for name, text in TASKS.items()
    if ("torch.zeros(" not in text or "device=x.device" in text) and name != "strided_weight"
}
"""Zeros made on the CPU are no state for a layer on a GPU, and PyTorch does not move strided weights there."""

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not gpu_present(), reason="needs a GPU")]


@pytest.fixture(scope="module")
def verdicts(
    request: pytest.FixtureRequest, open_judge: Any, pool: Any, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Future[Evaluation | TaskError]]:
    folder = tmp_path_factory.mktemp("recurrent")
    judge = open_judge(CheckConfig(device="cuda", timeout_s=60, timing=False))
    chosen = [test.callspec.params["name"] for test in request.session.items if test.path == request.path]
    return {name: pool.submit(_judged, judge, folder, name) for name in chosen}


def _judged(judge: Judge, folder: Path, name: str) -> Evaluation | TaskError:
    """What PyTorch itself refuses on a GPU, a state that is not contiguous for one, is no task there."""
    task, kernel = folder / f"{name}.py", folder / f"{name}_kernel.py"
    task.write_text(ON_GPU[name])
    try:
        match = match_recurrent(judge.survey(task))
        kernel.write_text(match.write(match.tunings[0]))
        return judge.check(task, kernel)
    except TaskError as error:
        return error


@pytest.mark.parametrize("name", ON_GPU)
def test_the_first_plan_passes(name: str, verdicts: dict[str, Future[Evaluation | TaskError]]) -> None:
    evaluation = verdicts[name].result()
    if isinstance(evaluation, TaskError):
        pytest.skip(str(evaluation))
    assert evaluation.verdict is Verdict.PASSED, evaluation.reason
    assert evaluation.generality in ("general", None), evaluation.notes
