"""Whether a claim holds, as a function of two evaluations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tilesmith.records import Evaluation, Quantiles, Speedup, Timing, Verdict
from tilesmith.runs.bundling.claims import ClaimOutcome, compare_claim

TIMES = Quantiles(9.0, 10.0, 11.0)


def judged(device: str = "NVIDIA H100", **speeds: tuple[float, float, float]) -> Evaluation:
    """Value, low and high over each baseline; none: not timed."""
    gain = {name: Speedup(*one) for name, one in speeds.items()}
    timing = Timing(device, TIMES, TIMES, None, None, {}, gain, gain, 9) if gain else None
    notes = () if gain else ("not timed: there is no GPU here",)
    return Evaluation(
        Verdict.PASSED, "right", "reduction", timing=timing, notes=notes, environment={"device": device}
    )


CLAIMED = judged(eager=(2.3, 2.2, 2.4), compile=(1.3, 1.2, 1.4))


@pytest.mark.parametrize(
    ("here", "outcome", "told"),
    [
        (
            judged(eager=(2.25, 2.21, 2.3), compile=(1.3, 1.2, 1.4)),
            "holds",
            "holds: 2.25x eager here, 2.30x claimed; 1.30x compile here, 1.30x claimed",
        ),
        (
            judged(eager=(3.0, 2.9, 3.1), compile=(1.19, 1.1, 1.2)),
            "holds",
            "holds: 3.00x eager here, 2.30x claimed; 1.19x compile here, 1.30x claimed",
        ),
        (
            judged(eager=(1.8, 1.7, 1.9), compile=(1.3, 1.2, 1.4)),
            "holds_less",
            "holds here too, but less: 1.80x eager here, 2.30x claimed (22% less)",
        ),
        (
            judged(eager=(1.8, 1.7, 1.9), compile=(1.0, 0.99, 1.01)),
            "fails",
            "fails: 1.00x compile here, 1.30x claimed (23% less)",
        ),
        (
            judged(eager=(0.9, 0.8, 1.0), compile=(0.9, 0.8, 1.0)),
            "fails",
            "fails: 0.90x eager here, 2.30x claimed (61% less); 0.90x compile here, 1.30x claimed (31% less)",
        ),
        (
            judged(eager=(2.3, 2.2, 2.4)),
            "holds",
            "holds: 2.30x eager here, 2.30x claimed; compile not measured here, 1.30x claimed",
        ),
        (
            judged("NVIDIA A100", eager=(1.8, 1.7, 1.9), compile=(1.3, 1.2, 1.4)),
            "holds_less",
            "holds here too, but less: 1.80x eager here, 2.30x claimed (22% less); on another GPU: NVIDIA A100 "
            "here, claimed on NVIDIA H100",
        ),
        (
            judged("CPU"),
            "values_hold",
            "the values are right here too; the speed, 2.30x eager (2.20 to 2.40), 1.30x compile (1.20 to 1.40) on "
            "NVIDIA H100, is not repeatable: not timed: there is no GPU here",
        ),
        (
            judged(graph=(2.3, 2.2, 2.4)),
            "values_hold",
            "the values are right here too; the speed, 2.30x eager (2.20 to 2.40), 1.30x compile (1.20 to 1.40) on "
            "NVIDIA H100, is not repeatable: not timed here",
        ),
    ],
)
def test_a_claimed_speed(here: Evaluation, outcome: str, told: str) -> None:
    compared = compare_claim(CLAIMED, here)
    assert (compared.outcome, compared.told) == (outcome, told)


def test_a_kernel_claimed_to_be_slower_cannot_fail_by_its_speed() -> None:
    slower = judged(eager=(0.95, 0.94, 0.96))
    assert compare_claim(slower, judged(eager=(0.5, 0.4, 0.6))).outcome is ClaimOutcome.LESS
    assert compare_claim(slower, slower).outcome is ClaimOutcome.HOLDS


@pytest.mark.parametrize("claimed", [CLAIMED, judged("CPU")])
def test_a_wrong_kernel_fails_whatever_was_claimed(claimed: Evaluation) -> None:
    wrong = replace(judged("NVIDIA A100"), verdict=Verdict.WRONG_VALUES, reason="off by 3")
    compared = compare_claim(claimed, wrong)
    assert compared.outcome is ClaimOutcome.FAILS
    assert compared.told == "fails: wrong_values on NVIDIA A100: off by 3"


def test_a_claim_without_a_speed_holds_by_its_values() -> None:
    assert compare_claim(judged("CPU"), judged("CPU")).told == (
        "holds: the values are right here too, and no speed was claimed"
    )
    timed = compare_claim(judged("CPU"), judged(eager=(0.5, 0.4, 0.6)))
    assert timed.outcome is ClaimOutcome.HOLDS
    assert timed.told.endswith("no speed was claimed; here it is 0.50x eager (0.40 to 0.60)")


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({}, True),
        ({"input_digests": [[-41.0003, 50.0], [3.0, 3.0]]}, True),
        ({"input_digests": [[-41.0, 50.0], [2.9, 3.0]]}, False),
        ({"input_digests": [[-41.0, 50.0]]}, False),
        ({"seed": 1}, None),
        ({"shapes": "2x8 instead of 4096x8"}, None),
        ({"input_digests": None}, None),
        ({"input_digests": [["a"], {"b": 1}]}, None),
    ],
)
def test_inputs_are_known_again_by_their_digests(changes: dict[str, object], same: bool | None) -> None:
    facts = {"device": "NVIDIA H100", "seed": 0, "input_digests": [[-41.0, 50.0], [3.0, 3.0]]}
    here = replace(CLAIMED, environment=facts | changes)
    assert compare_claim(replace(CLAIMED, environment=facts), here).same_inputs is same
