"""What a person sees while a run runs."""

from __future__ import annotations

import io
import re
import threading
import time
from dataclasses import replace

import pytest
from rich.console import Console, ConsoleDimensions
from sample_run import EVENTS, SURVEY, attempted, called, evaluation

from tilesmith.cli.display.progress_frame import OngoingActivity, ProgressSnapshot, draw_frame
from tilesmith.cli.display.run_progress import LiveProgress, PlainProgress, open_progress
from tilesmith.forge.recorded_effects import Activity
from tilesmith.forge.settings import ForgeSettings
from tilesmith.records import CallEvent, DecisionEvent, Phase, RefusalEvent, SurveyEvent
from tilesmith.runs.event_text import describe_event
from tilesmith.runs.summary import summarize

LIMITED = ForgeSettings(max_tokens=100_000, max_cost=1.0, max_minutes=30)


def terminal(width: int = 120, height: int = 40) -> Console:
    environment = {"TERM": "xterm-256color"}
    return Console(file=io.StringIO(), force_terminal=True, width=width, height=height, _environ=environment)


def written(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def visible(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


def drawn(
    snapshot: ProgressSnapshot, settings: ForgeSettings = LIMITED, width: int = 120, height: int = 40
) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height)
    console.print(draw_frame(snapshot, settings, ConsoleDimensions(width, height)))
    return [line.rstrip() for line in written(console).splitlines()]


# Which of the two


def test_who_watches_depends_on_the_terminal() -> None:
    assert isinstance(open_progress(terminal(), plain=False), LiveProgress)
    assert isinstance(open_progress(terminal(), plain=True), PlainProgress)
    assert isinstance(open_progress(Console(file=io.StringIO()), plain=False), PlainProgress)
    dumb = Console(file=io.StringIO(), force_terminal=True, _environ={"TERM": "dumb"})
    assert isinstance(open_progress(dumb, plain=False), PlainProgress)


# Plain lines


@pytest.mark.parametrize("console", [Console(file=io.StringIO(), width=20), terminal(20)], ids=["pipe", "terminal"])
def test_plain_lines_are_whole_and_without_colors(console: Console) -> None:
    with open_progress(console, plain=True, settings=LIMITED) as shown:
        shown.activity_changed(Activity("call", 1, "seed", characters=99))
        for event in EVENTS:
            shown.event_recorded(event)
    assert written(console).splitlines() == [describe_event(event) for event in EVENTS]


def test_each_plain_line_is_there_at_once() -> None:
    class Flushed(io.StringIO):
        seen = ""

        def flush(self) -> None:
            self.seen = self.getvalue()

    file = Flushed()
    with open_progress(Console(file=file), plain=True) as shown:
        shown.event_recorded(EVENTS[0])
        assert file.seen == f"{describe_event(EVENTS[0])}\n"


def test_a_run_goes_on_when_nobody_reads_its_lines() -> None:
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    with open_progress(Console(file=Broken()), plain=True) as shown:
        for event in EVENTS:
            shown.event_recorded(event)


@pytest.mark.parametrize("plain", [True, False])
def test_an_event_told_twice_is_shown_once(plain: bool) -> None:
    console = terminal()
    with open_progress(console, plain) as shown:
        for event in (EVENTS[1], EVENTS[1]):
            shown.event_recorded(event)
    assert visible(written(console)).count("call 1  seed") == 1


# The live view


def test_the_live_view_scrolls_every_event_and_leaves_only_those() -> None:
    console = terminal()
    with open_progress(console, plain=False, settings=LIMITED) as shown:
        for event in EVENTS:
            shown.event_recorded(event)
    text = visible(written(console))
    assert all(describe_event(event) in text for event in EVENTS)
    assert written(console).endswith("\x1b[2K")


def test_a_long_event_is_not_broken_by_a_narrow_terminal() -> None:
    console = terminal(width=40)
    event = DecisionEvent("stop", "word " * 30)
    with open_progress(console, plain=False) as shown:
        shown.event_recorded(event)
    assert describe_event(event) in visible(written(console))


def test_what_is_going_on_ends_with_its_event() -> None:
    console, now = terminal(), [100.0]
    shown = LiveProgress(console, LIMITED, clock=lambda: now[0])
    with shown:
        shown.activity_changed(Activity("call", 1, "seed"))
        now[0] += 7
        shown.activity_changed(Activity("call", 1, "seed", characters=3201))
        shown.activity_changed(Activity("call", 2, "seed"))
        assert _now(shown) == ["  call 1  seed  3,201 characters  7 s", "  call 2  seed  waiting  0 s"]
        shown.event_recorded(called(1, Phase.SEED))
        shown.activity_changed(Activity("judge", 1, "seed", "values"))
        assert _now(shown) == ["  call 2  seed  waiting  0 s", "  judge kernel 1  seed  values  0 s"]
        shown.activity_changed(Activity("call", 1, "seed", characters=4000))
        shown.event_recorded(called(2, Phase.SEED))
        shown.event_recorded(attempted(1, Phase.SEED, None, evaluation(), True))
        assert _now(shown) == []


def _now(shown: LiveProgress) -> list[str]:
    console = Console(file=io.StringIO(), width=120)
    console.print(shown._picture())
    lines = (line.rstrip() for line in written(console).splitlines())
    return [line for line in lines if line.startswith(("  call", "  judge"))]


def test_many_threads_and_no_deadlock() -> None:
    """Frames are drawn all the time, so that drawing and printing wait for each other if they ever do."""
    console = terminal()
    shown = LiveProgress(console, ForgeSettings(), time.monotonic, frames_per_second=2000).__enter__()

    def call(first: int) -> None:
        for number in range(first, first + 25):
            shown.activity_changed(Activity("call", number, "seed", characters=number))
            shown.event_recorded(called(number, Phase.SEED))

    threads = [threading.Thread(target=call, args=(first,), daemon=True) for first in range(1, 201, 25)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert not any(thread.is_alive() for thread in threads)  # before leaving, which would wait for them for ever
    shown.__exit__()
    text = visible(written(console))
    assert all(f"call {number}  seed  1,000 + 200 tokens" in text for number in range(1, 201))
    assert f"{200 * 1200:,} tokens" in text


def test_an_error_ends_the_live_view_and_shows_the_cursor_again() -> None:
    console = terminal()
    with pytest.raises(KeyboardInterrupt), open_progress(console, plain=False):
        raise KeyboardInterrupt
    assert written(console).rindex("\x1b[?25h") > written(console).rindex("\x1b[?25l")


# The picture


def test_the_picture_of_a_run() -> None:
    ongoing = (OngoingActivity(Activity("call", 8, "repair", characters=1500), 90.0),)
    lines = drawn(ProgressSnapshot(summarize(EVENTS[:15]), ongoing, now=100.0, elapsed=65.0))
    assert lines[1] == "39_GRU  ·  repair  ·  1:05 elapsed  ·  about 29:23 left"
    assert lines[2] == "  call 8  repair  1,500 characters  10 s"
    assert lines[3].split() == ["1", "seed", "compile_error", "dropped:", "'h_prev[k_ids]':", "use", "tl.load"]
    assert lines[4].split()[:4] == ["2", "seed", "passed", "0.12x"]
    tokens = sum(one.reply.usage.tokens for one in EVENTS[:15] if isinstance(one, CallEvent))
    assert lines[-1] == f"best: kernel 2 0.12x  ·  {tokens:,} of 100,000 tokens  ·  at least $0.0600 of $1"


def test_time_left_counts_what_is_on_record_and_what_runs_now() -> None:
    summary = summarize(
        [
            SurveyEvent(SURVEY),
            called(1, Phase.SEED, seconds=20.0),
            attempted(1, Phase.SEED, None, evaluation(), True),
        ]
    )
    ongoing = (OngoingActivity(Activity("confirm", 1, "seed", "values"), 0.0),)
    headline = drawn(ProgressSnapshot(summary, ongoing, now=35.0, elapsed=60.0), ForgeSettings(max_minutes=2))[1]
    assert headline == "39_GRU  ·  confirm  ·  1:00 elapsed  ·  about 1:00 left"


def test_without_limits_and_without_tokens_nothing_is_said_of_them() -> None:
    lines = drawn(
        ProgressSnapshot(summarize([]), (OngoingActivity(Activity("survey"), 0.0),), 1.0, 1.0), ForgeSettings()
    )
    assert lines[1:] == [
        "starting  ·  survey  ·  0:01 elapsed",
        "  survey of the task  1 s",
        "no kernel has passed yet",
    ]


def test_a_best_that_was_not_timed_says_so() -> None:
    summary = summarize([attempted(1, Phase.SEED, None, evaluation(), True)])
    assert drawn(ProgressSnapshot(summary, (), 0.0, 0.0), ForgeSettings())[-1] == "best: kernel 1 (not timed)"


@pytest.mark.parametrize("height", [4, 8, 12, 40])
def test_the_picture_fits_the_terminal_and_shows_the_last_attempts(height: int) -> None:
    many = [attempted(number, Phase.SEED, None, evaluation(), False, "x" * 300) for number in range(1, 31)]
    lines = drawn(ProgressSnapshot(summarize(many), (), 0.0, 0.0), width=50, height=height)
    assert len(lines) <= height
    shown = [int(line.split()[0]) for line in lines if "passed" in line and "seed" in line]
    assert shown == list(range(31 - len(shown), 31))
    assert len(shown) == min(10, max(0, height - 5))


def test_foreign_texts_cannot_steer_the_terminal() -> None:
    odd = RefusalEvent(1, Phase.SEED, "\x1b[2J\x1b]0;title\x07[bold]red[/]")
    task = SurveyEvent(replace(SURVEY, task="\x1b[5mtask"))
    console = terminal()
    with open_progress(console, plain=False) as shown:
        shown.event_recorded(task)
        shown.event_recorded(odd)
        shown.activity_changed(Activity("judge", 1, "seed", "\x1b[2Jgate"))
    text = written(console)
    assert "\x1b[2J" not in text
    assert "\x1b[5m" not in text
    assert "\x1b]0" not in text
    assert "[bold]red[/]" in text
