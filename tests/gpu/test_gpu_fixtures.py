"""Every fixture kernel gets exactly its verdict on a real GPU, at the task's exact shapes.

All of them are judged once, eight at a time, as an optimizer would ask for them.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from manifest import FIXTURES, Fixture

from tilesmith.config import CheckConfig
from tilesmith.judge import Judge
from tilesmith.judge.machine.devices import gpu_present
from tilesmith.records import Evaluation

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not gpu_present(), reason="needs a GPU")]
ON_GPU = [fixture for fixture in FIXTURES if fixture.device in ("both", "gpu")]


@pytest.fixture(scope="module")
def evaluations() -> dict[str, Evaluation]:
    with (
        Judge(CheckConfig(device="cuda", timeout_s=20, timing=False)) as judge,
        ThreadPoolExecutor(8) as pool,
    ):
        found = pool.map(lambda f: judge.check(f.task_path, f.kernel_path), ON_GPU)
        return {fixture.kernel: evaluation for fixture, evaluation in zip(ON_GPU, found, strict=True)}


@pytest.mark.parametrize("fixture", ON_GPU, ids=lambda fixture: fixture.kernel)
def test_verdict(evaluations: dict[str, Evaluation], fixture: Fixture) -> None:
    evaluation = evaluations[fixture.kernel]
    assert (evaluation.verdict, evaluation.reason) == (fixture.expected("gpu"), evaluation.reason)
