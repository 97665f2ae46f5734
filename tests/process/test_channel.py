"""Messages over a real socket pair: whole, in order, and never more than a bad frame when they are not."""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tilesmith.process.channel import MAX_FRAME_BYTES, BadFrame, Channel, ChannelClosed, ChannelTimeout
from tilesmith.process.descriptor import Descriptor

Ends = tuple[Channel, socket.socket]


@pytest.fixture
def ends() -> Iterator[Ends]:
    """Our end as a channel, the other as the bare socket that a hostile child has."""
    here, there = socket.socketpair()
    with here, there:
        yield Channel(here), there


def framed(payload: bytes) -> bytes:
    return struct.pack("!I", len(payload)) + payload


def test_messages_arrive_whole_and_in_order(ends: Ends) -> None:
    ours, theirs = ends
    messages = [{"n": 1}, {}, {"text": "ü\n\0", "nested": [{"a": None}, 1.5, True]}, {"long": "x" * 3_000_000}]

    def send_all() -> None:
        other = Channel(theirs)
        for message in messages:
            other.send(message)

    sender = threading.Thread(target=send_all)
    sender.start()
    assert [ours.receive(5) for _ in messages] == messages
    sender.join()


def test_a_reply_answers_the_question_that_was_asked(ends: Ends) -> None:
    ours, theirs = ends

    def reply() -> None:
        other = Channel(theirs)
        request = other.next_request()
        other.answer({"ok": request["n"] + 1})

    answering = threading.Thread(target=reply)
    answering.start()
    assert ours.ask({"n": 1}, 5) == {"ok": 2}
    answering.join()


@pytest.mark.parametrize("forged", [b'{"ok": {}}', b'{"ok": {}, "word": "0123456789abcdef"}'])
def test_a_forged_reply_is_a_bad_frame_now_and_for_the_next_question(ends: Ends, forged: bytes) -> None:
    ours, theirs = ends
    theirs.sendall(framed(forged) * 2)
    for _ in range(2):
        with pytest.raises(BadFrame):
            ours.ask({"n": 1}, 5)


def test_a_message_may_arrive_byte_by_byte(ends: Ends) -> None:
    ours, theirs = ends

    def drip() -> None:
        for byte in framed(b'{"slow": 1}'):
            theirs.send(bytes([byte]))

    threading.Thread(target=drip).start()
    assert ours.receive(5) == {"slow": 1}


@pytest.mark.parametrize(
    "payload", [b"", b"[1]", b"1", b"null", b"not json", b"\xff", b"{", b'{"a": 1} x', b"[" * 1_000_000]
)
def test_what_is_no_message_is_a_bad_frame(ends: Ends, payload: bytes) -> None:
    ours, theirs = ends
    threading.Thread(target=lambda: theirs.sendall(framed(payload))).start()
    with pytest.raises(BadFrame):
        ours.receive(5)


def test_a_frame_too_large_is_refused_before_it_is_read(ends: Ends) -> None:
    ours, theirs = ends
    theirs.sendall(struct.pack("!I", MAX_FRAME_BYTES + 1))
    with pytest.raises(BadFrame, match=str(MAX_FRAME_BYTES + 1)):
        ours.receive(5)


@pytest.mark.parametrize("sent", [b"", b"\0\0", framed(b'{"whole": 1}')[:-3]])
def test_silence_is_a_timeout_however_much_came_before(ends: Ends, sent: bytes) -> None:
    ours, theirs = ends
    theirs.sendall(sent)
    began = time.monotonic()
    with pytest.raises(ChannelTimeout):
        ours.receive(0.2)
    assert 0.15 < time.monotonic() - began < 1


def test_dripping_does_not_extend_the_deadline(ends: Ends) -> None:
    ours, theirs = ends
    stop = threading.Event()

    def drip() -> None:
        theirs.sendall(struct.pack("!I", 10_000))
        while not stop.wait(0.02):
            theirs.send(b"x")

    dripping = threading.Thread(target=drip)
    dripping.start()
    began = time.monotonic()
    with pytest.raises(ChannelTimeout):
        ours.receive(0.3)
    assert time.monotonic() - began < 1
    stop.set()
    dripping.join()


@pytest.mark.parametrize("sent", [b"", b"\0\0", framed(b'{"whole": 1}')[:-3]])
def test_the_other_side_is_gone(ends: Ends, sent: bytes) -> None:
    ours, theirs = ends
    theirs.sendall(sent)
    theirs.close()
    with pytest.raises(ChannelClosed):
        ours.receive(5)
    with pytest.raises(ChannelClosed):
        ours.send({"anyone": "there?"})


def test_open_files_travel_beside_a_message(ends: Ends, tmp_path: Path) -> None:
    here, theirs = ends
    (tmp_path / "note").write_text("found it")
    here.send({"files": [Descriptor(os.open(tmp_path / "note", os.O_RDONLY))], "descriptor": 3})
    message = Channel(theirs).receive(5)
    (found,) = message["files"]
    with open(os.dup(found.number)) as file:
        assert (file.read(), message["descriptor"]) == ("found it", 3)


def test_a_position_without_a_file_stays_what_it_is(ends: Ends) -> None:
    here, theirs = ends
    theirs.sendall(framed(b'{"memory": {"descriptor": 0}}'))
    assert here.receive(5) == {"memory": {"descriptor": 0}}


def test_files_that_nobody_asked_for_are_closed(ends: Ends, tmp_path: Path) -> None:
    here, theirs = ends
    held = set(os.listdir("/proc/self/fd"))
    with open(tmp_path / "note", "w") as note:
        content = framed(b'{"a": 1}')
        socket.send_fds(theirs, [content[:4]], [note.fileno()] * 40)
        socket.send_fds(theirs, [content[4:]], [note.fileno()])
    assert here.receive(5) == {"a": 1}
    assert set(os.listdir("/proc/self/fd")) == held


def test_a_file_that_is_sent_once_is_closed_here_and_open_there(ends: Ends, tmp_path: Path) -> None:
    here, theirs = ends
    (tmp_path / "note").write_text("found it")
    sent = Descriptor(os.open(tmp_path / "note", os.O_RDONLY))
    number, sent.sent_once = sent.number, True
    here.send({"file": sent})
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(number)
    assert os.read(Channel(theirs).receive(5)["file"].number, 100) == b"found it"
