"""Every fixture kernel gets exactly its verdict, without a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest
from manifest import FIXTURES, Fixture

from tilesmith.judge import Judge
from tilesmith.records import Verdict

ON_CPU = [fixture for fixture in FIXTURES if fixture.device in ("both", "cpu")]


@pytest.mark.parametrize("fixture", ON_CPU, ids=lambda fixture: fixture.kernel)
def test_verdict(judge: Judge, fixtures: Path, fixture: Fixture) -> None:
    evaluation = judge.check(
        fixtures / "tasks" / f"{fixture.task}.py", fixtures / "kernels" / f"{fixture.kernel}.py"
    )
    assert (evaluation.verdict, evaluation.reason) == (fixture.verdict, evaluation.reason)
    assert fixture.reason.lower() in evaluation.reason.lower()
    assert fixture.generality in (None, evaluation.generality)


def test_there_are_enough_of_them_and_each_is_bad_in_its_own_way() -> None:
    good = [fixture for fixture in ON_CPU if fixture.verdict == "passed"]
    bad = [fixture for fixture in ON_CPU if fixture.verdict != "passed"]
    assert len(good) >= 15
    assert len(bad) >= 30
    assert {fixture.verdict for fixture in ON_CPU} == set(Verdict)
