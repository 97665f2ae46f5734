"""No cheat passes and no honest kernel is mistaken for one, without a GPU."""

from __future__ import annotations

import pytest
from cheat_manifest import CHEATS, FIXTURES_DIR, HONEST, Cheat, Honest

from tilesmith.judge import Judge
from tilesmith.records import Verdict

ON_CPU = [cheat for cheat in CHEATS if cheat.device in ("both", "cpu")]
HONEST_ON_CPU = [honest for honest in HONEST if honest.device in ("both", "cpu")]


@pytest.mark.parametrize("cheat", ON_CPU, ids=lambda cheat: f"{cheat.family}-{cheat.name}")
def test_a_cheat_is_caught(judge: Judge, cheat: Cheat) -> None:
    evaluation = judge.check(cheat.task_path, cheat.path)
    told = (str(evaluation.verdict), evaluation.reason)
    assert evaluation.verdict in cheat.verdicts, told
    assert not cheat.reason or any(words in evaluation.reason.lower() for words in cheat.reason), told


@pytest.mark.parametrize("honest", HONEST_ON_CPU, ids=lambda honest: honest.name)
def test_an_honest_kernel_passes(judge: Judge, honest: Honest) -> None:
    evaluation = judge.check(honest.task_path, honest.path)
    assert (evaluation.verdict, evaluation.reason) == (Verdict.PASSED, evaluation.reason)


def test_every_fixture_is_listed_once_and_says_what_it_does() -> None:
    listed = [*(cheat.path for cheat in CHEATS), *(honest.path for honest in HONEST)]
    not_cheats, neighbors = {"tasks", "expected"}, {"helpers_for_neighbour"}
    found = [path for path in FIXTURES_DIR.glob("cheats/*/*.py") if path.parent.name not in not_cheats]
    found += [path for path in FIXTURES_DIR.glob("honest/*.py") if path.stem not in neighbors]
    assert sorted(listed) == sorted(found)
    assert all(cheat.what.startswith("Cheat: ") for cheat in CHEATS)
    assert all(verdict in set(Verdict) - {Verdict.PASSED} for cheat in CHEATS for verdict in cheat.verdicts)
