"""Every fixture kernel gets exactly its verdict, without a GPU: all in `make test-all`, a sample in `make test`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from manifest import FIXTURES, Fixture
from samples import FIXTURES_BY_WHAT_DECIDES, sampled

from tilesmith.judge import Judge
from tilesmith.records import Verdict

ON_CPU = [fixture for fixture in FIXTURES if fixture.device in ("both", "cpu")]


@pytest.mark.parametrize(
    "fixture", sampled(ON_CPU, FIXTURES_BY_WHAT_DECIDES, "kernel"), ids=lambda fixture: fixture.kernel
)
def test_verdict(judge: Judge, fixture: Fixture, monkeypatch: pytest.MonkeyPatch) -> None:
    if fixture.verdict == "timeout":  # nobody learns more by waiting longer
        monkeypatch.setattr(judge, "config", replace(judge.config, timeout_s=3))
    evaluation = judge.check(fixture.task_path, fixture.kernel_path)
    assert (evaluation.verdict, evaluation.reason) == (fixture.verdict, evaluation.reason)
    assert fixture.reason.lower() in evaluation.reason.lower()
    assert fixture.generality in (None, evaluation.generality)


def test_there_are_enough_of_them_and_each_is_bad_in_its_own_way() -> None:
    good = [fixture for fixture in ON_CPU if fixture.verdict == "passed"]
    bad = [fixture for fixture in ON_CPU if fixture.verdict != "passed"]
    assert len(good) >= 15
    assert len(bad) >= 30
    assert {fixture.verdict for fixture in ON_CPU} == set(Verdict) - {
        Verdict.UNSUPPORTED
    }  # its fixtures lie among the cheats
