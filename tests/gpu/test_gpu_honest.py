"""No honest kernel is mistaken for a cheat on a real GPU, where all of them are timed."""

from __future__ import annotations

from concurrent.futures import Future

import pytest
from cheat_manifest import HONEST, Honest

from tilesmith.judge.machine.devices import gpu_present
from tilesmith.records import Evaluation, Verdict

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not gpu_present(), reason="needs a GPU")]
ON_GPU = sorted((honest for honest in HONEST if honest.device in ("both", "gpu")), key=lambda honest: honest.task)


@pytest.mark.parametrize("honest", ON_GPU, ids=lambda honest: honest.name)
def test_an_honest_kernel_passes(verdicts: dict[Honest, Future[Evaluation]], honest: Honest) -> None:
    evaluation = verdicts[honest].result()
    assert (evaluation.verdict, evaluation.reason) == (Verdict.PASSED, evaluation.reason)
