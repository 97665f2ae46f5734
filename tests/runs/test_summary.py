from __future__ import annotations

import pytest
from sample_run import ANALYSIS, EVENTS, SURVEY, attempted, called, evaluation

from tilesmith.records import (
    AnalysisEvent,
    AttemptEvent,
    ConfirmationEvent,
    DecisionEvent,
    Event,
    Phase,
    RefusalEvent,
    Verdict,
)
from tilesmith.runs.summary import RunSummary, summarize

WHOLE = summarize(EVENTS)


def labels(summary: RunSummary, number: int | None) -> list[str]:
    """What hangs from a candidate, in a few words."""
    return [label(step.event) for step in summary.children(number)]


def label(event: Event) -> str:
    match event:
        case AttemptEvent(attempt=attempt):
            return f"kernel {attempt.candidate.number}"
        case AnalysisEvent(call=call) | RefusalEvent(call=call):
            return f"{event.event} {call}"
        case DecisionEvent(about=about):
            return about
    return event.event


def test_an_empty_run() -> None:
    summary = summarize([])
    assert (summary.best, summary.score, summary.calls, summary.usage.tokens, summary.steps) == (
        None,
        None,
        0,
        0,
        (),
    )
    assert summary.busy_seconds == 0


def test_folding_one_by_one_gives_the_same_summary() -> None:
    summary = RunSummary()
    for number, event in enumerate(EVENTS, 1):
        before = summary
        summary = summary.after(event)
        assert summary == summarize(EVENTS[:number])
        assert before == summarize(EVENTS[: number - 1])
    assert summary == WHOLE


def test_everything_is_told_in_order() -> None:
    assert [one.candidate.number for one in WHOLE.attempts] == [1, 2, 3, 4, 5]
    assert [one.call for one in WHOLE.refusals] == [3, 4]
    assert [one.analysis for one in WHOLE.analyses] == [None, ANALYSIS]
    assert [one.about for one in WHOLE.decisions] == ["stage grid", "stop"]
    assert [one.candidate for one in WHOLE.confirmations] == [4]
    assert WHOLE.survey == SURVEY
    assert WHOLE.finished == EVENTS[-1]


def test_the_tree_holds_each_step_where_it_belongs() -> None:
    assert labels(WHOLE, None) == ["kernel 1", "kernel 2", "refused 3", "stop"]
    assert labels(WHOLE, 1) == ["refused 4"]
    assert labels(WHOLE, 2) == ["analysis 5", "analysis 6", "kernel 3"]
    assert labels(WHOLE, 3) == ["kernel 4"]
    assert labels(WHOLE, 4) == ["stage grid", "kernel 5", "confirmed"]


def test_a_step_about_an_unknown_kernel_stands_at_the_root() -> None:
    summary = summarize(
        [attempted(3, Phase.REPAIR, 2, evaluation(), True), DecisionEvent("kernel 9", "not confirmed")]
    )
    assert labels(summary, None) == ["kernel 3", "kernel 9"]


def test_a_fallback_stands_by_the_analysis_that_named_it() -> None:
    events = [*EVENTS[:15], DecisionEvent("fallback in round 1", "the plan failed")]
    assert labels(summarize(events), 2)[-1] == "fallback in round 1"


def test_a_kernel_that_was_not_confirmed_is_named_in_its_place() -> None:
    summary = summarize([*EVENTS[:-2], DecisionEvent("kernel 4", "not confirmed: inaccurate")])
    assert labels(summary, 4)[-1] == "kernel 4"


@pytest.mark.parametrize(("events", "best"), [(5, None), (6, 2), (15, 2), (17, 4), (20, 4), (23, 4)])
def test_the_best_so_far(events: int, best: int | None) -> None:
    found = summarize(EVENTS[:events]).best
    assert (found.candidate.number if found else None) == best


def test_the_score_is_the_one_measured_last() -> None:
    assert summarize(EVENTS[:-1]).score == 1.37
    assert WHOLE.score == 1.36


def test_a_kernel_that_fails_its_confirmation_is_not_the_best() -> None:
    failed = ConfirmationEvent(4, evaluation(Verdict.INACCURATE), None, 7.0)
    summary = summarize([*EVENTS[:-2], failed])
    assert summary.best is not None
    assert summary.best.candidate.number == 2


def test_tokens_are_summed_by_phase() -> None:
    tokens = {phase: usage.tokens for phase, usage in WHOLE.usage_by_phase.items()}
    assert tokens == {
        Phase.SEED: 14_034 + 12_024 + 110,
        Phase.REPAIR: 2_400,
        Phase.ANALYZE: 4_886 + 4_345,
        Phase.OPTIMIZE: 22_542,
        Phase.STAGE: 1_200,
    }
    assert WHOLE.usage.tokens == sum(tokens.values())
    assert WHOLE.calls == 9


def test_one_unknown_price_makes_the_sum_unknown_and_keeps_what_is_known() -> None:
    assert WHOLE.usage.dollars is None
    assert WHOLE.spent.known_dollars == pytest.approx(0.08)
    assert WHOLE.costs_by_phase[Phase.OPTIMIZE].usage.dollars is None
    assert WHOLE.costs_by_phase[Phase.OPTIMIZE].known_dollars == 0
    assert WHOLE.costs_by_phase[Phase.ANALYZE].usage.dollars == pytest.approx(0.02)


def test_seconds_of_calls_and_verdicts() -> None:
    assert WHOLE.spent.seconds == 8 * 2.0 + 4.0
    assert WHOLE.verdict_seconds == 5 * 5.0 + 7.0


def test_seeds_asked_for_at_once_take_the_time_of_the_slowest() -> None:
    summary = summarize([called(1, Phase.SEED), called(2, Phase.SEED, seconds=4.0), called(3, Phase.ANALYZE)])
    assert summary.busy_seconds == 4.0 + 2.0
