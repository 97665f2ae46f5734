"""A run while it runs: a live picture in a terminal, one plain line an event anywhere else.

Both are told of the same things: `doing`, what is going on and leaves no trace, and `happened`, what is on record.
Calls run side by side, so both may come from any thread. An event told twice, as a resumed run may, is shown once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from tilesmith.cli.display.progress_frame import OngoingActivity, ProgressSnapshot, draw_frame, event_style
from tilesmith.cli.output_options import print_line
from tilesmith.forge.recorded_effects import Activity, RunObserver
from tilesmith.forge.settings import ForgeSettings
from tilesmith.records import AttemptEvent, CallEvent, ConfirmationEvent, Event, SurveyEvent
from tilesmith.runs.event_text import describe_event
from tilesmith.runs.journal import event_key
from tilesmith.runs.summary import RunSummary

Clock = Callable[[], float]


class ProgressView(RunObserver, Protocol):
    """A watcher that is entered before the run begins and left when it ended."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def open_progress(
    console: Console, plain: bool, settings: ForgeSettings = ForgeSettings(), clock: Clock = time.monotonic
) -> ProgressView:
    """A live view where there is a terminal that can show one, plain lines otherwise."""
    if plain or not console.is_terminal or console.is_dumb_terminal:
        return PlainProgress(console)
    return LiveProgress(console, settings, clock)


class PlainProgress:
    """One unbroken line an event, without colors, at once."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lock = threading.Lock()
        self._shown: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def activity_changed(self, activity: Activity) -> None:
        pass

    def event_recorded(self, event: Event) -> None:
        with self._lock:
            if event_key(event) in self._shown:
                return
            self._shown.add(event_key(event))
            print_line(describe_event(event), self._console)


@dataclass(frozen=True)
class _ActivityKey:
    """What is going on, until the event that ends it."""

    what: str
    number: int


class LiveProgress:
    """Finished lines scroll by; below them the present is drawn again and again."""

    def __init__(
        self, console: Console, settings: ForgeSettings, clock: Clock, frames_per_second: float = 5
    ) -> None:
        self._console, self._settings_text, self._clock = console, settings, clock
        self._lock = threading.Lock()
        self._summary, self._shown, self._ended = RunSummary(), set[str](), set[_ActivityKey]()
        self._going: dict[_ActivityKey, OngoingActivity] = {}
        self._began = clock()
        self._live = Live(
            get_renderable=self._picture,
            console=console,
            refresh_per_second=frames_per_second,
            transient=True,
        )

    def __enter__(self) -> Self:
        self._began = self._clock()
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def activity_changed(self, activity: Activity) -> None:
        key = _ActivityKey(activity.what, activity.number)
        with self._lock:
            if key in self._ended:
                return
            before = self._going.get(key)
            self._going[key] = OngoingActivity(activity, before.began if before else self._clock())

    def event_recorded(self, event: Event) -> None:
        with self._lock:
            if event_key(event) in self._shown:
                return
            self._shown.add(event_key(event))
            self._summary = self._summary.after(event)
            for key in _activities_ended_by(event):
                self._ended.add(key)
                self._going.pop(key, None)
        # Not under our lock: printing waits for the frame being drawn, and that frame waits for our lock.
        self._console.print(Text(describe_event(event), style=event_style(event)), soft_wrap=True)

    def _picture(self) -> RenderableType:
        with self._lock:
            now = self._clock()
            snapshot = ProgressSnapshot(self._summary, tuple(self._going.values()), now, now - self._began)
        return draw_frame(snapshot, self._settings_text, self._console.size)


def _activities_ended_by(event: Event) -> tuple[_ActivityKey, ...]:
    match event:
        case SurveyEvent():
            return (_ActivityKey("survey", 0),)
        case CallEvent(number=number):
            return (_ActivityKey("call", number),)
        case AttemptEvent(attempt=attempt):
            return (_ActivityKey("judge", attempt.candidate.number),)
        case ConfirmationEvent(candidate=number):
            return (_ActivityKey("confirm", number),)
    return ()
