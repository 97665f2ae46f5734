"""Length-prefixed JSON messages over a Unix socket: how the parent and its children talk.

Nothing is ever unpickled from a child, and a frame has a size limit, so a hostile child can at worst
send a reply the parent does not believe. Open files travel beside a message, which names each by its position.
"""

from __future__ import annotations

import array
import secrets
import select
import socket
import struct
import time
from typing import Any

from tilesmith.process.descriptor import Descriptor
from tilesmith.process.plain_json import from_text, to_text

MAX_FRAME_BYTES = 16 * 2**20
_HEADER = struct.Struct("!I")
_WORD = "word"
_POSITION = "descriptor"
_MOST_DESCRIPTORS = 16


class ChannelClosed(Exception):
    """The other side is gone."""


class ChannelTimeout(Exception):
    """The other side did not answer in time."""


class BadFrame(Exception):
    """The other side sent something that is not one of our messages."""


class Channel:
    """One end of a private socket. Not thread-safe: one conversation, one owner.

    Every request carries a word that its reply must repeat, so a frame that someone else wrote onto the socket is
    never taken for an answer, neither to this request nor to the next.
    """

    __slots__ = ("_sock", "_word")  # an instance has no place for other methods than these

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._word = ""

    def ask(self, request: dict[str, Any], timeout_s: float | None = None) -> dict[str, Any]:
        word = secrets.token_hex(8)
        self.send({**request, _WORD: word})
        reply = self.receive(timeout_s)
        if reply.pop(_WORD, None) != word:
            raise BadFrame("an answer to another question")
        return reply

    def next_request(self) -> dict[str, Any]:
        request = self.receive()
        self._word = str(request.pop(_WORD, ""))
        return request

    def answer(self, reply: dict[str, Any]) -> None:
        self.send({**reply, _WORD: self._word})

    def fileno(self) -> int:
        return self._sock.fileno()

    def close(self) -> None:
        self._sock.close()

    def send(self, message: dict[str, Any]) -> None:
        descriptors: list[Descriptor] = []
        payload = to_text(_detached(message, descriptors)).encode()
        frame = _HEADER.pack(len(payload)) + payload
        try:
            if descriptors:
                sent = socket.send_fds(self._sock, [frame[: _HEADER.size]], [one.number for one in descriptors])
                frame = frame[sent:]
            self._sock.sendall(frame)
            for one in descriptors:
                if one.sent_once:
                    one.close()
        except OSError as error:
            raise ChannelClosed(str(error)) from None

    def receive(self, timeout_s: float | None = None) -> dict[str, Any]:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        descriptors: list[Descriptor] = []
        (length,) = _HEADER.unpack(self._read(_HEADER.size, deadline, descriptors))
        if length > MAX_FRAME_BYTES:
            raise BadFrame(f"a message of {length} bytes")
        try:
            message = from_text(self._read(length, deadline).decode())
        except (ValueError, RecursionError) as error:
            raise BadFrame(str(error)) from None
        if not isinstance(message, dict):
            raise BadFrame("not an object")
        return _attached(message, descriptors) if descriptors else message

    def _read(self, size: int, deadline: float | None, descriptors: list[Descriptor] | None = None) -> bytes:
        """`descriptors` takes what comes along; without it, what comes along is closed at once."""
        parts: list[bytes] = []
        while size:
            self._wait(deadline)
            try:
                part = self._receive(min(size, 1 << 20), descriptors)
            except OSError as error:
                raise ChannelClosed(str(error)) from None
            if not part:
                raise ChannelClosed("end of stream")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _receive(self, size: int, descriptors: list[Descriptor] | None) -> bytes:
        if descriptors is None:
            return self._sock.recv(size)
        numbers = array.array("i")
        room = socket.CMSG_SPACE(_MOST_DESCRIPTORS * numbers.itemsize)
        part, ancillary, _, _ = self._sock.recvmsg(size, room, socket.MSG_CMSG_CLOEXEC)
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                numbers.frombytes(data[: len(data) - len(data) % numbers.itemsize])
        descriptors += map(Descriptor, numbers)
        return part

    def _wait(self, deadline: float | None) -> None:
        if deadline is None:
            return
        remaining = deadline - time.monotonic()
        if remaining <= 0 or not select.select([self._sock], [], [], remaining)[0]:
            raise ChannelTimeout


def _detached(value: Any, descriptors: list[Descriptor]) -> Any:
    """The same message with a position in place of every descriptor."""
    if isinstance(value, Descriptor):
        descriptors.append(value)
        return {_POSITION: len(descriptors) - 1}
    if isinstance(value, dict):
        return {key: _detached(one, descriptors) for key, one in value.items()}
    if isinstance(value, list):
        return [_detached(one, descriptors) for one in value]
    return value


def _attached(value: Any, descriptors: list[Descriptor]) -> Any:
    """The same message with descriptors in place of their positions; what is not one stays as it came."""
    if isinstance(value, dict):
        position = value.get(_POSITION)
        if value.keys() == {_POSITION} and type(position) is int and 0 <= position < len(descriptors):
            return descriptors[position]
        return {key: _attached(one, descriptors) for key, one in value.items()}
    if isinstance(value, list):
        return [_attached(one, descriptors) for one in value]
    return value
