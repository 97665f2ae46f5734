"""No cheat passes and no honest kernel is mistaken for one, without a GPU.

All of them are judged in `make test-all`. In `make test` a sample is: some of each family, chosen by what catches
them; the others only have to be read (`test_candidate_source.py`).
"""

from __future__ import annotations

import pytest
from cheat_manifest import CHEATS, FIXTURES_DIR, HONEST, Cheat, Honest
from samples import CHEATS_BY_WHAT_CATCHES_THEM, HONEST_BY_HABIT, sampled

from tilesmith.judge import Judge
from tilesmith.records import Verdict

ON_CPU = [cheat for cheat in CHEATS if cheat.device in ("both", "cpu")]
HONEST_ON_CPU = [honest for honest in HONEST if honest.device in ("both", "cpu")]


@pytest.mark.parametrize(
    "cheat", sampled(ON_CPU, CHEATS_BY_WHAT_CATCHES_THEM), ids=lambda cheat: f"{cheat.family}-{cheat.name}"
)
def test_a_cheat_is_caught(judge: Judge, cheat: Cheat) -> None:
    evaluation = judge.check(cheat.task_path, cheat.kernel_path)
    told = (str(evaluation.verdict), evaluation.reason)
    assert evaluation.verdict in cheat.verdicts, told
    assert not cheat.reason or any(words in evaluation.reason.lower() for words in cheat.reason), told


@pytest.mark.parametrize("honest", sampled(HONEST_ON_CPU, HONEST_BY_HABIT), ids=lambda honest: honest.name)
def test_an_honest_kernel_passes(judge: Judge, honest: Honest) -> None:
    evaluation = judge.check(honest.task_path, honest.kernel_path)
    assert (evaluation.verdict, evaluation.reason) == (Verdict.PASSED, evaluation.reason)


def test_every_fixture_is_listed_once_and_says_what_it_does() -> None:
    listed = [*(cheat.kernel_path for cheat in CHEATS), *(honest.kernel_path for honest in HONEST)]
    not_cheats, neighbors = {"tasks", "expected"}, {"helpers_for_neighbour"}
    found = [path for path in FIXTURES_DIR.glob("cheats/*/*.py") if path.parent.name not in not_cheats]
    found += [path for path in FIXTURES_DIR.glob("honest/*.py") if path.stem not in neighbors]
    assert sorted(listed) == sorted(found)
    assert all(cheat.what.startswith("Cheat: ") for cheat in CHEATS)
    assert all(verdict in set(Verdict) - {Verdict.PASSED} for cheat in CHEATS for verdict in cheat.verdicts)


@pytest.mark.parametrize("family", ["timing", "values", "kernel", "grader"])
def test_a_third_of_each_family_is_in_the_sample(family: str) -> None:
    names = {name for some in CHEATS_BY_WHAT_CATCHES_THEM.values() for name in some}
    members = [cheat.name for cheat in ON_CPU if cheat.family == family]
    assert 3 * len(names.intersection(members)) >= len(members)
