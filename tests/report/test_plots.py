"""What plots say, and that any text can be drawn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from timed_run import finished_run, timed_events

from tilesmith.records import AttemptEvent, Event
from tilesmith.report.plots import Drawing, draw, plots_of
from tilesmith.report.run_view import read_report_run, report_view


def captions(folder: Path, events: tuple[Event, ...]) -> dict[str, str]:
    return {
        name: one.caption
        for name, one in plots_of(report_view(read_report_run(finished_run(folder, events)))).items()
    }


def changed(event: Event, **fields: object) -> Event:
    """The attempt with another evaluation."""
    if not isinstance(event, AttemptEvent):
        return event
    return AttemptEvent(replace(event.attempt, evaluation=replace(event.attempt.evaluation, **fields), score=None))  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:Glyph")
def test_a_control_character_in_a_name_is_drawn_as_a_symbol() -> None:
    drawing = Drawing("one", "title", "caption", lambda axes: axes.set_xlabel("\x01<b>"))
    assert "␁&lt;b&gt;" in draw([drawing])["one"].svg


@pytest.mark.parametrize(("count", "told"), [(300, "Every timed call is a dot"), (301, "A dot is one of several")])
def test_a_plot_of_samples_says_whether_it_has_them_all(tmp_path: Path, count: int, told: str) -> None:
    *earlier, last, end = timed_events()
    assert isinstance(last, AttemptEvent)
    timing = last.attempt.evaluation.timing
    assert timing is not None
    samples = {"candidate": (tuple(1.0 for _ in range(count)),)}
    events = (*earlier, changed(last, timing=replace(timing, samples_ms=samples)), end)
    assert captions(tmp_path, events)["samples"].startswith(told)


@pytest.mark.parametrize(("count", "told"), [(20, "Error of each attempt"), (21, "Error of the last 20 attempts")])
def test_a_plot_of_errors_says_which_attempts_it_has(tmp_path: Path, count: int, told: str) -> None:
    events = tuple(changed(event, timing=None) for event in timed_events(count))
    assert captions(tmp_path, events)["errors"].startswith(told)
