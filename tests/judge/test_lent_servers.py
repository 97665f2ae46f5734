"""A judge may lend its fork servers to another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tilesmith.judge import Judge
from tilesmith.records import Verdict

EXAMPLES = Path(__file__).parents[2] / "examples"
TASK, KERNEL = EXAMPLES / "softmax.py", EXAMPLES / "kernels" / "softmax.py"


def test_a_judge_on_the_servers_of_another_is_fresh_in_all_else(judge: Judge) -> None:
    """And leaves them running."""
    first = judge.check(TASK, KERNEL)
    with Judge(replace(judge.config, seed=5), host=judge) as guest:
        second = guest.check(TASK, KERNEL)
    assert (first.verdict, second.verdict) == (Verdict.PASSED, Verdict.PASSED)
    assert (first.environment["seed"], second.environment["seed"]) == (0, 5)
    judge.let_references_go()
    assert judge.check(TASK, KERNEL).passed
