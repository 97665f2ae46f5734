"""Streams and events of the pretended GPU. Work is done at once, but who waits for whom is kept account of.

On a real GPU, events on the caller's stream do not see what a side stream still does, so work that nobody
waits for looks as if it took no time. `begin_call()` starts an account, `unjoined()` tells what is open.

Like torch's own side streams, these never wait for the default stream by themselves.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import torch

from tilesmith.worker.fake_cuda.stream_order import Clock, StreamOrder

NOT_WHILE_CAPTURING = "CUDA error: operation not permitted when stream is capturing"
_DEFAULT = 0
_numbers = itertools.count(0x1000)  # 1 and 2 are CUDA's own names for default streams


class AnyStream:
    """torch.Stream. Two objects with one number are one stream."""

    device_index = 0
    device_type = 1

    def __init__(self, device: Any = None, priority: int = 0, **known: Any) -> None:
        self.device = torch.device("cuda", 0)
        self.priority = priority
        self.stream_id: int = known["stream_id"] if "stream_id" in known else next(_numbers)
        self._outer: list[AnyStream] = []

    @property
    def cuda_stream(self) -> int:
        return self.stream_id

    @staticmethod
    def priority_range() -> tuple[int, int]:
        return 0, -5

    def synchronize(self) -> None:
        forbid_while_capturing()
        _state.order.host_waits(_state.order.clock(self.stream_id))

    def query(self) -> bool:
        return True

    def wait_stream(self, stream: AnyStream) -> None:
        _state.order.wait(self.stream_id, _state.order.clock(stream.stream_id))

    def wait_event(self, event: AnyEvent) -> None:
        event.wait(self)

    def record_event(self, event: AnyEvent | None = None) -> AnyEvent:
        event = event if event is not None else Event()
        event.record(self)
        return event

    def __enter__(self) -> AnyStream:
        self._outer.append(current_stream())
        set_stream(self)
        return self

    def __exit__(self, *_: object) -> None:
        set_stream(self._outer.pop())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyStream) and other.stream_id == self.stream_id

    def __hash__(self) -> int:
        return hash(self.stream_id)


class Stream(AnyStream):
    """torch.cuda.Stream."""


class ExternalStream(Stream):
    """torch.cuda.ExternalStream: a stream by its handle, which may be one of ours."""

    def __init__(self, stream_ptr: int, device: Any = None, **_: Any) -> None:
        super().__init__(device, stream_id=int(stream_ptr))


class AnyEvent:
    """torch.Event: how far a stream had come when it was recorded. Waiting for an unrecorded one is nothing."""

    cuda_event = 0
    event_id = 0

    def __init__(self, *_: Any, **__: Any) -> None:
        self.device = torch.device("cuda", 0)
        self._order: StreamOrder | None = None
        self._clock: Clock = {}

    def record(self, stream: AnyStream | None = None) -> None:
        stream = stream if stream is not None else current_stream()
        self._order, self._clock = _state.order, _state.order.clock(stream.stream_id)

    def wait(self, stream: AnyStream | None = None) -> None:
        stream = stream if stream is not None else current_stream()
        if self._order is _state.order:
            _state.order.wait(stream.stream_id, self._clock)

    def synchronize(self) -> None:
        forbid_while_capturing()
        if self._order is _state.order:
            _state.order.host_waits(self._clock)

    def query(self) -> bool:
        return True

    def elapsed_time(self, end: Any) -> float:
        return 0.0


class Event(AnyEvent):
    """torch.cuda.Event."""


class StreamContext:
    """torch.cuda.stream(...), also with None."""

    def __init__(self, stream: AnyStream | None = None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *_: object) -> None:
        if self.stream is not None:
            self.stream.__exit__()


@dataclass
class _StreamState:
    """The account that is open, and the stream on which work is started."""

    order: StreamOrder = field(default_factory=StreamOrder)
    current: AnyStream = field(default_factory=lambda: Stream(stream_id=_DEFAULT))
    account_outside_capture: StreamOrder | None = None


_state = _StreamState()


def current_stream(device: Any = None) -> AnyStream:
    return _state.current


def default_stream(device: Any = None) -> AnyStream:
    return Stream(stream_id=_DEFAULT)


def set_stream(stream: AnyStream | None) -> None:
    if stream is not None:
        _state.current = stream


def synchronize(device: Any = None) -> None:
    forbid_while_capturing()
    _state.order.host_waits_for_all()


def is_capturing() -> bool:
    return _state.account_outside_capture is not None


def forbid_while_capturing() -> None:
    """For what a GPU refuses while it records a graph."""
    if is_capturing():
        raise RuntimeError(NOT_WHILE_CAPTURING)


def begin_call() -> None:
    """Before a forward: it starts on the default stream, and whatever came before is no business of it."""
    _state.current = default_stream()
    _state.order.host_waits_for_all()


def unjoined() -> list[str]:
    """After a forward: the streams with work that its caller's stream does not wait for."""
    return _state.order.unjoined(_DEFAULT)


def on_side_stream() -> bool:
    """Only there does work need to be record_on_stream: the caller always waits for its own stream."""
    return _state.current.stream_id != _DEFAULT


def note_work(what: str) -> None:
    """Device work was started on the current stream."""
    if on_side_stream():
        _state.order.note(_state.current.stream_id, what)


def wait_for_current() -> None:
    """The host waits for what the current stream has to do, as it does before it reads a value."""
    _state.order.host_waits(_state.order.clock(_state.current.stream_id))


def begin_capture_account() -> None:
    """What is captured does not run, so it has an account of its own."""
    _state.account_outside_capture, _state.order = _state.order, StreamOrder()


def end_capture_account() -> list[str]:
    """Back to the account before; returns the streams that the capturing one did not wait for."""
    left = _state.order.unjoined(_state.current.stream_id)
    if _state.account_outside_capture is not None:
        _state.order, _state.account_outside_capture = _state.account_outside_capture, None
    return left
