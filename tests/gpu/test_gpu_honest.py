"""No honest kernel is mistaken for a cheat on a real GPU, where all of them are timed."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest
from cheat_manifest import HONEST, Honest

from tilesmith.config import CheckConfig
from tilesmith.judge.machine.devices import gpu_present
from tilesmith.records import Evaluation, Verdict

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not gpu_present(), reason="needs a GPU")]
ON_GPU = sorted((honest for honest in HONEST if honest.device in ("both", "gpu")), key=lambda honest: honest.task)


@pytest.fixture(scope="module")
def verdicts(judge_all: Any) -> dict[Honest, Future[Evaluation]]:
    return judge_all("honest", CheckConfig(device="cuda", timeout_s=20, timing_s=1.0))


@pytest.mark.parametrize("honest", ON_GPU, ids=lambda honest: honest.name)
def test_an_honest_kernel_passes(verdicts: dict[Honest, Future[Evaluation]], honest: Honest) -> None:
    evaluation = verdicts[honest].result()
    assert (evaluation.verdict, evaluation.reason) == (Verdict.PASSED, evaluation.reason)
