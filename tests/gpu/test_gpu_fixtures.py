"""Every fixture kernel gets exactly its verdict on a real GPU, at the task's exact shapes."""

from __future__ import annotations

from concurrent.futures import Future

import pytest
from manifest import FIXTURES, Fixture

from tilesmith.judge.machine.devices import gpu_present
from tilesmith.records import Evaluation

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not gpu_present(), reason="needs a GPU")]
ON_GPU = sorted((one for one in FIXTURES if one.device in ("both", "gpu")), key=lambda fixture: fixture.task)


@pytest.mark.parametrize("fixture", ON_GPU, ids=lambda fixture: fixture.kernel)
def test_verdict_on_a_gpu(verdicts: dict[Fixture, Future[Evaluation]], fixture: Fixture) -> None:
    evaluation = verdicts[fixture].result()
    assert (evaluation.verdict, evaluation.reason) == (fixture.expected("gpu"), evaluation.reason)
