"""No cheat passes and no honest kernel is mistaken for one on a real GPU.

All are judged once, eight at a time; those that deceive the clock are timed, too.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from cheat_manifest import CHEATS, HONEST, Cheat, Honest

from tilesmith.config import CheckConfig
from tilesmith.judge import Judge
from tilesmith.judge.machine.devices import gpu_present
from tilesmith.records import Evaluation, Verdict

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not gpu_present(), reason="needs a GPU")]
ON_GPU = [cheat for cheat in CHEATS if cheat.device in ("both", "gpu")]
HONEST_ON_GPU = [honest for honest in HONEST if honest.device in ("both", "gpu")]
TIMED = [cheat for cheat in ON_GPU if cheat.family == "timing"]
UNTIMED = [cheat for cheat in ON_GPU if cheat.family != "timing"]


@pytest.fixture(scope="module")
def evaluations() -> dict[str, Evaluation]:
    timed = _judged([*TIMED, *HONEST_ON_GPU], CheckConfig(device="cuda", timeout_s=20, timing_s=1.0))
    return timed | _judged(UNTIMED, CheckConfig(device="cuda", timeout_s=20, timing=False))


def _judged(candidates: list[Cheat | Honest] | list[Cheat], config: CheckConfig) -> dict[str, Evaluation]:
    with Judge(config) as judge, ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda one: judge.check(one.task_path, one.path), candidates)
        return {str(one.path): evaluation for one, evaluation in zip(candidates, found, strict=True)}


@pytest.mark.parametrize("cheat", ON_GPU, ids=lambda cheat: f"{cheat.family}-{cheat.name}")
def test_a_cheat_is_caught(evaluations: dict[str, Evaluation], cheat: Cheat) -> None:
    evaluation = evaluations[str(cheat.path)]
    told = (str(evaluation.verdict), evaluation.reason)
    assert evaluation.verdict in cheat.verdicts, told
    assert not cheat.reason or any(words in evaluation.reason.lower() for words in cheat.reason), told


@pytest.mark.parametrize("honest", HONEST_ON_GPU, ids=lambda honest: honest.name)
def test_an_honest_kernel_passes(evaluations: dict[str, Evaluation], honest: Honest) -> None:
    evaluation = evaluations[str(honest.path)]
    assert (evaluation.verdict, evaluation.reason) == (Verdict.PASSED, evaluation.reason)
