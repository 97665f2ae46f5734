"""events.jsonl: the one truth about a run, one event a line, on disk before it counts.

A line is written once, whole and flushed; a torn last line is what a kill left behind and is dropped. Every event
has a key, and an event that is already there is not written again: that is how a run resumes by running anew.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from tilesmith.errors import RunError
from tilesmith.records import (
    EVENTS,
    AnalysisEvent,
    AttemptEvent,
    CallEvent,
    ConfirmationEvent,
    DecisionEvent,
    Event,
    LostCallEvent,
    RefusalEvent,
    from_json,
    to_json,
)
from tilesmith.runs.atomic_files import UNWRITABLE


def event_key(event: Event) -> str:
    """What the event is about; a run has one event of each key."""
    match event:
        case CallEvent(number=about) | AnalysisEvent(call=about) | RefusalEvent(call=about):
            return f"{event.event} {about}"
        case LostCallEvent():
            return f"{event.event} {event.number}.{event.time}"
        case AttemptEvent(attempt=attempt):
            return f"{event.event} {attempt.candidate.number}"
        case ConfirmationEvent(candidate=about):
            return f"{event.event} {about}"
        case DecisionEvent(about=about):
            return f"{event.event} {about}"
        case _:
            return event.event


class Journal:
    """Events of one run, in the order they happened. Append from any thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._events = {event_key(event): event for event in read_events(path)}
        self._file = path.open("ab")
        self._drop_torn_line()

    def __iter__(self) -> Iterator[Event]:
        return iter(list(self._events.values()))

    def find(self, key: str) -> Event | None:
        return self._events.get(key)

    def append(self, event: Event) -> bool:
        """Whether it was new; when this returns, it is on disk."""
        key = event_key(event)
        with self._lock:
            if key in self._events:
                return False
            line = json.dumps({"at": _now(), **to_json(event)}, ensure_ascii=False)
            self._file.write(line.encode("utf-8", UNWRITABLE) + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
            self._events[key] = event
        return True

    def close(self) -> None:
        self._file.close()

    def _drop_torn_line(self) -> None:
        data = self._path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            self._file.truncate(whole)


def read_events(path: Path) -> list[Event]:
    """Every whole event."""
    return [decode_event(path, number, line) for number, line in enumerate(whole_lines(path), 1)]


class SalvagedEvents(NamedTuple):
    events: list[Event]
    problems: list[str]
    """What is wrong with the lines that are not among them."""


def salvage_events(path: Path) -> SalvagedEvents:
    """Every event that can be read, for those who only look."""
    events, problems = [], []
    try:
        lines = whole_lines(path)
    except RunError as error:
        return SalvagedEvents([], [str(error)])
    for number, line in enumerate(lines, 1):
        try:
            events.append(decode_event(path, number, line))
        except RunError as error:
            problems.append(str(error))
    return SalvagedEvents(events, problems)


def whole_lines(path: Path) -> list[bytes]:
    """A line cut off by a kill is not one."""
    try:
        whole, _, _ = path.read_bytes().rpartition(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror}") from None
    return whole.split(b"\n") if whole else []


def decode_event(path: Path, number: int, line: bytes) -> Event:
    try:
        data: dict[str, Any] = json.loads(line)
        return from_json(EVENTS[data["event"]], data)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RunError(f"{path}:{number}: not an event of this version: {type(error).__name__} {error}") from None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
