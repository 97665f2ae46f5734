"""Why a fused kernel should be faster: bytes that fusion saves, and what is expected of it."""

from __future__ import annotations

import pytest
from playbook_surveys import match_task, survey_task
from playbook_tasks import ELEMENTWISE

from tilesmith.authors.playbook import PlaybookAuthor
from tilesmith.records import COMPLEXITIES, Attempt, AuthorRequest, Candidate, Evaluation, Phase, Prompt, Verdict


def test_an_analysis_counts_what_fusion_saves() -> None:
    text = ELEMENTWISE["scalar_mix"].replace("30, 517", "8192, 8192")
    analysis = match_task("scalar_mix", text).analysis()
    assert analysis.complexity in COMPLEXITIES
    assert analysis.kernel_type == "elementwise"
    assert analysis.expected_speedup is not None
    assert analysis.expected_speedup > 3
    assert "move" in analysis.bottleneck


def test_bytes_are_counted_in_the_type_of_each_tensor() -> None:
    text = ELEMENTWISE["masked_fill"].replace("(40, 333", "(8192, 8192").replace("keep == 0", "keep")
    text = text.replace("torch.randint(0, 2, (8192, 8192))", "torch.rand(8192, 8192) > 0.5")
    assert "moves 0.604 GB where 0.604 GB would do" in match_task("masked", text).analysis().bottleneck


def test_what_takes_less_than_a_launch_is_not_blamed_on_memory() -> None:
    analysis = match_task("tiny", ELEMENTWISE["scalar_mix"]).analysis()
    assert analysis.bottleneck.startswith("launches: 7 operators")
    assert "memory" not in analysis.bottleneck


@pytest.mark.parametrize(("change", "expected"), [("", 1.0), ("# by another hand\n", 7.0)])
def test_a_speedup_is_expected_over_the_base(change: str, expected: float) -> None:
    match, survey = (make("mix", ELEMENTWISE["scalar_mix"]) for make in (match_task, survey_task))
    candidate = Candidate(1, change + match.write(match.tunings[0]), None, 1, Phase.SEED)
    base = Attempt(candidate, Evaluation(Verdict.PASSED, "", "elementwise"), None, True, "", 0.0)
    reply = PlaybookAuthor().answer(
        AuthorRequest(2, Phase.ANALYZE, survey, base=base), Prompt("", ""), lambda _: None
    )
    assert f'"expected_speedup": {expected}' in reply.text
