"""Every fixture kernel gets exactly its verdict on a real GPU, at the task's exact shapes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from manifest import FIXTURES, Fixture

from tilesmith.config import CheckConfig
from tilesmith.judge import Judge
from tilesmith.judge.devices import gpu_present

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not gpu_present(), reason="needs a GPU")]
ON_GPU = [fixture for fixture in FIXTURES if fixture.device in ("both", "gpu")]


@pytest.fixture(scope="module")
def gpu_judge() -> Iterator[Judge]:
    with Judge(CheckConfig(device="cuda", timeout_s=20, timing=False)) as warm:
        yield warm


@pytest.mark.parametrize("fixture", ON_GPU, ids=lambda fixture: fixture.kernel)
def test_verdict(gpu_judge: Judge, fixtures: Path, fixture: Fixture) -> None:
    evaluation = gpu_judge.check(
        fixtures / "tasks" / f"{fixture.task}.py", fixtures / "kernels" / f"{fixture.kernel}.py"
    )
    expected = fixture.gpu_verdict or fixture.verdict
    assert (evaluation.verdict, evaluation.reason) == (expected, evaluation.reason)
