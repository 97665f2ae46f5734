"""No cheat passes on a real GPU; those that deceive the clock are timed, too."""

from __future__ import annotations

from concurrent.futures import Future

import pytest
from cheat_manifest import CHEATS, Cheat

from tilesmith.judge.machine.devices import gpu_present
from tilesmith.records import Evaluation

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not gpu_present(), reason="needs a GPU")]
ON_GPU = sorted((cheat for cheat in CHEATS if cheat.device in ("both", "gpu")), key=lambda cheat: cheat.task)
TIMED = [cheat for cheat in ON_GPU if cheat.family == "timing"]
UNTIMED = [cheat for cheat in ON_GPU if cheat.family != "timing"]
Verdicts = dict[Cheat, Future[Evaluation]]


@pytest.mark.parametrize("clock_cheat", TIMED, ids=lambda cheat: cheat.name)
def test_who_deceives_the_clock_is_caught(verdicts: Verdicts, clock_cheat: Cheat) -> None:
    expect_caught(clock_cheat, verdicts[clock_cheat].result())


@pytest.mark.parametrize("cheat", UNTIMED, ids=lambda cheat: f"{cheat.family}-{cheat.name}")
def test_any_other_cheat_is_caught(verdicts: Verdicts, cheat: Cheat) -> None:
    expect_caught(cheat, verdicts[cheat].result())


def expect_caught(cheat: Cheat, evaluation: Evaluation) -> None:
    told = (str(evaluation.verdict), evaluation.reason)
    assert evaluation.verdict in cheat.verdicts, told
    assert not cheat.reason or any(words in evaluation.reason.lower() for words in cheat.reason), told
