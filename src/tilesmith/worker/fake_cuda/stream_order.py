"""Who has waited for whose work: one clock per stream, merged wherever one waits for another.

A clock maps a stream's number to how many pieces of its work are known to come first. That is all that
is needed to follow waiting through any chain of streams and events.
"""

from __future__ import annotations

Clock = dict[int, int]


class StreamOrder:
    """The work of all streams. Nothing is ever taken back, so an old clock stays true."""

    def __init__(self) -> None:
        self._work: Clock = {}
        self._last: dict[int, str] = {}
        self._seen: dict[int, Clock] = {}
        self._host: Clock = {}

    def note(self, stream: int, what: str) -> None:
        """One more piece of work on a stream."""
        self._work[stream] = self._work.get(stream, 0) + 1
        self._last[stream] = what

    def clock(self, stream: int) -> Clock:
        """What has come to pass once the stream reaches this point."""
        return _later(self._seen.get(stream, {}), {stream: self._work.get(stream, 0)})

    def wait(self, stream: int, clock: Clock) -> None:
        """Later work of the stream comes after all that the clock knows."""
        self._seen[stream] = _later(self._seen.get(stream, {}), clock)

    def host_waits(self, clock: Clock) -> None:
        """Whatever is started from now on, on any stream, comes after all that the clock knows."""
        self._host = _later(self._host, clock)

    def host_waits_for_all(self) -> None:
        self._host = dict(self._work)

    def unjoined(self, caller: int) -> list[str]:
        """The streams with work that neither the caller's stream nor the host has waited for."""
        known = _later(self._host, self._seen.get(caller, {}))
        open_work = {s: n - known.get(s, 0) for s, n in self._work.items() if s != caller and n > known.get(s, 0)}
        return [_described(stream, count, self._last[stream]) for stream, count in open_work.items()]


def _later(one: Clock, other: Clock) -> Clock:
    return {stream: max(one.get(stream, 0), other.get(stream, 0)) for stream in one.keys() | other.keys()}


def _described(stream: int, count: int, last: str) -> str:
    pieces = "1 operation" if count == 1 else f"{count} operations"
    return f"stream {stream:#x}: {pieces} ({'' if count == 1 else 'the last one: '}{last})"
