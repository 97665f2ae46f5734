"""A run told as a case study, from its events alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sample_run import EVENTS, SURVEY, attempted, evaluation

from tilesmith.records import (
    AttemptEvent,
    DecisionEvent,
    Event,
    FinishedEvent,
    Phase,
    RefusalEvent,
    SurveyEvent,
    Verdict,
)
from tilesmith.runs.summary import summarize
from tilesmith.study.story import headline, lineage, tell_story


def with_source(event: AttemptEvent, source: str) -> AttemptEvent:
    return AttemptEvent(replace(event.attempt, candidate=replace(event.attempt.candidate, source=source)))


def test_the_story_of_a_bad_seed_rescued() -> None:
    story = tell_story(EVENTS)
    for told in (
        "# 39_GRU: a bad seed rescued, 0.12x to 1.36x\n",
        ". Kernel 4 is right, and 1.36x as fast as its best baseline.\n",
        "- Kernel 2: passed, 0.12x; recurrent, complexity low, 6 launches, 10 ms; found time-loop-on-host",
        "- Call 3 brought no kernel: cut off by the token limit",
        "Of kernel 2: nothing of use (not a JSON object).",
        "- Bottleneck: 6150 launches, one per time step",
        "- If that is too hard: precompute the input gates",
        "**Kernel 2 to kernel 3** (optimize): 1 line in, 1 out.",
        "```diff\n@@ -1 +1 @@\n-# kernel 3\n+# kernel 4\n```",
        "The analysis expected 2.5x more; it became 11.84x.",
        "| 5 | stage block | 0.090x | passed | slower than the best so far |",
        "over eager 1.36x (1.35 to 1.37)",
        "- stage grid: skipped: persistent_recurrent, complexity persistent",
        "| total | 9 | 61,541 | at least $0.0800 |",
    ):
        assert told in story


def test_the_line_from_the_seed_to_the_answer() -> None:
    assert [one.candidate.number for one in lineage(summarize(EVENTS))] == [2, 3, 4]


def seed(score: float | None, verdict: Verdict = Verdict.PASSED) -> AttemptEvent:
    return attempted(1, Phase.SEED, None, evaluation(verdict, score), verdict is Verdict.PASSED)


@pytest.mark.parametrize(
    ("events", "told"),
    [
        ((), "no kernel passed yet"),
        ((FinishedEvent(None, None, None, "none passed"),), "no kernel passed"),
        ((seed(None, Verdict.CRASHED),), "no kernel passed"),
        ((FinishedEvent(None, None, None, "no recipe", keeps_pytorch=True),), "PyTorch is kept"),
        ((seed(1.2),), "a good seed that nothing improved, 1.20x"),
        ((seed(0.5),), "a slow seed that nothing improved, 0.50x"),
        ((seed(None),), "a right kernel, not timed"),
        (
            (seed(None, Verdict.CRASHED), attempted(2, Phase.REPAIR, 1, evaluation(Verdict.PASSED, 0.7), True)),
            "no seed passed; 0.70x in the end",
        ),
        ((seed(0.5), attempted(2, Phase.OPTIMIZE, 1, evaluation(Verdict.PASSED, 0.7), True)), "a seed improved"),
    ],
)
def test_what_kind_of_story_it_is(events: tuple[Event, ...], told: str) -> None:
    assert headline(summarize(events)).startswith(told)
    assert told in tell_story(events)


def test_a_story_without_a_single_event() -> None:
    story = tell_story(())
    assert "The run has not ended." in story
    assert "No seed was written." in story


def test_hostile_texts_stay_texts() -> None:
    refusal = RefusalEvent(1, Phase.SEED, "<script>alert(1)</script>\n# not a title | `x` [link](http://x)")
    story = tell_story((SurveyEvent(replace(SURVEY, task="<b>|")), refusal, DecisionEvent("stage grid", "a\n## b")))
    assert "<script>" not in story
    assert "# &lt;b>\\|: no kernel passed yet\n" in story
    assert "\n# not a title" not in story
    assert "\n## b" not in story
    assert "\\[link\\]" in story


def test_a_diff_is_fenced_whatever_is_in_it_and_cut_where_it_is_long() -> None:
    first = with_source(seed(0.5), "````\n")
    second = with_source(
        attempted(2, Phase.OPTIMIZE, 1, evaluation(Verdict.PASSED, 0.7), True), "x = 1\n" * 500 + "</diff>\n"
    )
    story = tell_story((first, second))
    assert "`````diff\n@@" in story
    assert "... 443 more lines\n`````" in story
    assert "501 lines in, 1 out" in story


def test_a_source_steers_no_terminal() -> None:
    events = [with_source(one, f"{one.attempt.candidate.source}\x1b[2J") if isinstance(one, AttemptEvent) else one
              for one in EVENTS]  # fmt: skip
    story = tell_story(events)
    assert "+# kernel 4" in story
    assert "\x1b" not in story
    assert "\ufffd[2J" in story
