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

from tilesmith.cli.live_view import Going, Moment, picture, style_for
from tilesmith.cli.printing import put
from tilesmith.forge.dials import Dials
from tilesmith.forge.workshop import Doing, Watcher
from tilesmith.records import Attempted, Called, Confirmed, Event, Surveyed
from tilesmith.runs.journal import key_of
from tilesmith.runs.lines import line_for
from tilesmith.runs.story import Story

Clock = Callable[[], float]


class Shown(Watcher, Protocol):
    """A watcher that is entered before the run begins and left when it ended."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def watcher(console: Console, plain: bool, dials: Dials = Dials(), clock: Clock = time.monotonic) -> Shown:
    """A live view where there is a terminal that can show one, plain lines otherwise."""
    if plain or not console.is_terminal or console.is_dumb_terminal:
        return PlainWatcher(console)
    return LiveWatcher(console, dials, clock)


class PlainWatcher:
    """One unbroken line an event, without colours, at once."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lock = threading.Lock()
        self._told: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def doing(self, doing: Doing) -> None:
        pass

    def happened(self, event: Event) -> None:
        with self._lock:
            if key_of(event) in self._told:
                return
            self._told.add(key_of(event))
            put(line_for(event), self._console)


@dataclass(frozen=True)
class _Key:
    """What is going on, until the event that ends it."""

    what: str
    number: int


class LiveWatcher:
    """Finished lines scroll by; below them the present is drawn again and again."""

    def __init__(self, console: Console, dials: Dials, clock: Clock, frames_per_second: float = 5) -> None:
        self._console, self._dials, self._clock = console, dials, clock
        self._lock = threading.Lock()
        self._story, self._told, self._ended = Story(), set[str](), set[_Key]()
        self._going: dict[_Key, Going] = {}
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

    def doing(self, doing: Doing) -> None:
        key = _Key(doing.what, doing.number)
        with self._lock:
            if key in self._ended:
                return
            before = self._going.get(key)
            self._going[key] = Going(doing, before.began if before else self._clock())

    def happened(self, event: Event) -> None:
        with self._lock:
            if key_of(event) in self._told:
                return
            self._told.add(key_of(event))
            self._story = self._story.after(event)
            for key in _ended_by(event):
                self._ended.add(key)
                self._going.pop(key, None)
        # Not under our lock: printing waits for the frame being drawn, and that frame waits for our lock.
        self._console.print(Text(line_for(event), style=style_for(event)), soft_wrap=True)

    def _picture(self) -> RenderableType:
        with self._lock:
            now = self._clock()
            moment = Moment(self._story, tuple(self._going.values()), now, now - self._began)
        return picture(moment, self._dials, self._console.size)


def _ended_by(event: Event) -> tuple[_Key, ...]:
    match event:
        case Surveyed():
            return (_Key("survey", 0),)
        case Called(number=number):
            return (_Key("call", number),)
        case Attempted(attempt=attempt):
            return (_Key("judge", attempt.candidate.number),)
        case Confirmed(candidate=number):
            return (_Key("confirm", number),)
    return ()
