"""What a page tells of a run, before anything is drawn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sample_run import make_run
from timed_run import finished_run, timed_events, with_source

from tilesmith.errors import RunError
from tilesmith.records import AttemptEvent, FinishedEvent, Phase, SurveyEvent
from tilesmith.report.run_view import read_report_run, report_view
from tilesmith.report.view import ReportView


def view_of(folder: Path) -> ReportView:
    return report_view(read_report_run(folder))


def test_the_headline_has_every_baseline_with_its_interval(tmp_path: Path) -> None:
    head = view_of(finished_run(tmp_path, timed_events())).headline
    assert [(one.baseline, one.value) for one in head.gains] == [
        ("eager PyTorch", 4.0),
        ("eager in a CUDA graph", 2.0),
    ]
    assert (head.gains[0].low, head.gains[0].high) == (3.6, pytest.approx(4.4))
    assert (head.gains[0].baseline_ms, head.gains[0].tone) == (4.0, "good")
    assert head.errors is not None
    assert (head.errors.relative, head.errors.eager_relative) == (4e-7, 2e-7)
    assert head.not_timed == ""
    assert dict(head.facts)["date"] == "2026-05-01 10:00 UTC"


def test_the_confirmation_is_what_counts(tmp_path: Path) -> None:
    head = view_of(finished_run(tmp_path)).headline
    assert [one.value for one in head.gains] == [1.36]
    assert head.told == "kernel 4 is right, and 1.36x as fast as its best baseline"


def test_a_run_without_times_says_so(tmp_path: Path) -> None:
    events = []
    for event in timed_events(1):
        if isinstance(event, AttemptEvent):
            judged = replace(event.attempt.evaluation, timing=None, notes=("not timed: there is no GPU here",))
            event = AttemptEvent(replace(event.attempt, evaluation=judged, score=None))
        events.append(replace(event, faster=None, score=None) if isinstance(event, FinishedEvent) else event)
    view = view_of(finished_run(tmp_path, tuple(events)))
    assert view.headline.gains == ()
    assert view.headline.not_timed == "There is no GPU here, so nothing is said about speed."
    assert view.headline.tone == "good"
    assert view.times == ()
    assert view.roofline is not None
    assert view.roofline.points == ()


def test_every_attempt_has_its_diff_and_outcome(tmp_path: Path) -> None:
    view = view_of(finished_run(tmp_path, timed_events()))
    first, second, third = view.attempts
    assert (first.parent, first.text.language) == (None, "python")
    assert (second.parent, second.text.language) == (1, "diff")
    assert second.text.text.startswith("@@ ")
    assert "-    step = 1\n+    step = 2" in second.text.text
    assert (third.best, third.outcome, third.score_text) == (True, "kept: faster than the best so far", "2.00×")
    assert third.file == "kernels/0003.py"
    assert third.resources[0].registers == 128


def test_a_long_reason_is_whole_with_its_attempt_alone(tmp_path: Path) -> None:
    first, event, *rest = timed_events()
    assert isinstance(event, AttemptEvent)
    attempt = replace(event.attempt, why="wrong: relative error 2\n  at (0, 1): expected 1.0, got 3.0")
    view = view_of(finished_run(tmp_path, (first, AttemptEvent(attempt), *rest)))
    assert view.story[0].text == "kept: wrong: relative error 2"
    assert view.attempts[0].outcome.endswith("\n  at (0, 1): expected 1.0, got 3.0")


def test_the_story_is_a_tree(tmp_path: Path) -> None:
    story = view_of(finished_run(tmp_path)).story
    places = {line.attempt: line.depth for line in story if line.attempt is not None}
    assert places == {1: 0, 2: 0, 3: 1, 4: 2, 5: 3}
    labels = [line.label for line in story]
    assert "seed refused" in labels
    assert "analysis of no use" in labels
    assert "repair passed, best" in labels
    assert ("stage grid", "skipped: persistent_recurrent, complexity persistent") in [
        (line.label, line.text) for line in story
    ]


def test_a_long_chain_of_repairs_is_no_deep_recursion(tmp_path: Path) -> None:
    story = view_of(finished_run(tmp_path, timed_events(1200))).story
    assert [line.attempt for line in story] == list(range(1, 1201))
    assert max(line.depth for line in story) == 12


def test_everything_measured_is_on_the_roofline(tmp_path: Path) -> None:
    limit = view_of(finished_run(tmp_path, timed_events())).roofline
    assert limit is not None
    assert limit.intensity == 20.0
    assert limit.bytes_per_s == 4e12
    assert limit.peak_flops_per_s == 4e14
    rates = {point.name: point.flops_per_s for point in limit.points}
    assert rates.keys() == {"kernel 1", "kernel 2", "this kernel", "eager PyTorch", "eager in a CUDA graph"}
    assert rates["this kernel"] == pytest.approx(4e13)
    assert rates["eager PyTorch"] == 1e13


def test_samples_are_kept_round_by_round(tmp_path: Path) -> None:
    mine = view_of(finished_run(tmp_path, timed_events())).times[0]
    assert mine.name == "this kernel"
    assert mine.rounds == ((0.9, 1.0), (1.0, 1.1))
    assert mine.left_out == 0


def test_costs_are_told_by_phase(tmp_path: Path) -> None:
    costs = view_of(finished_run(tmp_path)).costs
    assert [one.phase for one in costs] == ["seed", "analyze", "optimize", "repair", "stage", "total"]
    assert (costs[0].calls, costs[0].input_tokens, costs[0].output_tokens, costs[0].money) == (
        3,
        26_100,
        68,
        "$0.0300",
    )
    assert costs[-1].money == "at least $0.0800"


def test_a_run_without_tokens_has_no_costs(tmp_path: Path) -> None:
    assert view_of(finished_run(tmp_path, timed_events())).costs == ()


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    folder = finished_run(tmp_path, timed_events())
    journal = folder / "events.jsonl"
    journal.write_bytes(journal.read_bytes() + b'{"at": "2026-05-01", "att')
    view = view_of(folder)
    assert len(view.attempts) == 3
    assert view.problems == ()


def test_a_damaged_line_is_named_and_the_rest_is_told(tmp_path: Path) -> None:
    folder = finished_run(tmp_path, timed_events())
    lines = (folder / "events.jsonl").read_bytes().splitlines()
    lines[1] = b"{}"
    (folder / "events.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    view = view_of(folder)
    assert [one.number for one in view.attempts] == [2, 3]
    assert view.attempts[0].parent is None
    assert "events.jsonl:2: not an event of this version" in view.problems[0]


def test_missing_files_are_not_named(tmp_path: Path) -> None:
    folder = finished_run(tmp_path, timed_events())
    for name in ("kernels/0002.py", "log.txt", "run.json"):
        (folder / name).unlink()
    view = view_of(folder)
    assert view.attempts[1].file is None
    assert list(view.files) == ["task.py", "events.jsonl"]
    assert "has no run.json" in view.problems[0]
    assert view.headline.title == "39_GRU"


def test_a_run_that_has_only_begun_has_a_page(tmp_path: Path) -> None:
    run = make_run(tmp_path, ())
    run.close()
    view = view_of(run.path)
    assert view.headline.told == "The run is interrupted; no kernel has passed yet."
    assert view.problems == ()
    assert (view.kernel, view.attempts, view.plan, view.roofline) == (None, (), None, None)


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a run"):
        read_report_run(tmp_path)


def test_no_survey_is_no_hindrance(tmp_path: Path) -> None:
    events = tuple(event for event in timed_events() if not isinstance(event, SurveyEvent))
    view = view_of(finished_run(tmp_path, events))
    assert view.headline.title == "39_GRU"
    assert (view.plan, view.roofline) == (None, None)


def test_a_huge_source_is_cut_and_no_copy_of_it_is_offered(tmp_path: Path) -> None:
    events = tuple(
        with_source(event, "x = 1  # line\n" * 400_000)
        if isinstance(event, AttemptEvent) and event.attempt.candidate.phase is Phase.SEED
        else event
        for event in timed_events(1)
    )
    kernel = view_of(finished_run(tmp_path, events)).kernel
    assert kernel is not None
    assert len(kernel.source.text) <= 80_000
    assert (kernel.source.cut, kernel.source.exact, kernel.source.lines) == (True, False, 400_000)
    assert kernel.file == "kernels/0001.py"
