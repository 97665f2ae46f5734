"""A reply as it comes in: bytes to server-sent events to text.

We read the bytes ourselves instead of the SDK's parsed stream, because every read must look at the clock (a
provider can keep a connection alive with comments for ever) and because some servers answer a request for a
stream with one plain JSON document.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tilesmith.llm.failures import shorten_to_line

LONGEST_LINE = 16_000_000


class BrokenStream(Exception):
    """The bytes make no sense as a reply."""


class ErrorInStream(Exception):
    """The provider reported a failure in the middle of its reply."""

    def __init__(self, error: object) -> None:
        super().__init__("error in stream")
        self.error = error


@dataclass(frozen=True)
class StreamedReply:
    """One reply, whole or as far as it came."""

    text: str
    refusal: str
    reasoning_characters: int
    finish: str | None
    """The provider's reason for the end; null when the reply was cut before it."""
    usage: dict[str, Any] | None
    model: str


class StreamReader:
    """Gathers one reply."""

    def __init__(self, on_progress: Callable[[int], None], max_characters: int) -> None:
        self._on_progress = on_progress
        self._max_characters = max_characters
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._characters = 0
        self._reasoning_characters = 0
        self._usage: dict[str, Any] | None = None
        self._model = ""
        self.finish: str | None = None

    def read(self, payloads: Iterable[str]) -> None:
        """Take every event up to the end of the reply, or to the point where it is too long."""
        for payload in payloads:
            if payload.startswith("[DONE]"):
                self.finish = self.finish or "stop"
                return
            self._take(_parsed(payload))
            if self._characters > self._max_characters:
                self.finish = "length"
                return

    def result(self) -> StreamedReply:
        return StreamedReply(
            _join_surrogates("".join(self._text))[: self._max_characters],
            _join_surrogates("".join(self._refusal)),
            self._reasoning_characters,
            self.finish,
            self._usage,
            self._model,
        )

    def _take(self, event: dict[str, Any]) -> None:
        if event.get("error"):
            raise ErrorInStream(event["error"])
        self._model = self._model or shorten_to_line(str(event.get("model") or ""), 100)
        if isinstance(event.get("usage"), dict):
            self._usage = event["usage"]
        for choice in event.get("choices") or ():
            if isinstance(choice, dict) and not choice.get("index"):
                self._take_choice(choice)

    def _take_choice(self, choice: dict[str, Any]) -> None:
        part = choice.get("delta") or choice.get("message") or {}
        text, refusal = _text_of(part.get("content")), _text_of(part.get("refusal"))
        reasoning = _text_of(part.get("reasoning_content")) or _text_of(part.get("reasoning"))
        self._text.append(text)
        self._refusal.append(refusal)
        self._characters += len(text) + len(refusal)
        self._reasoning_characters += len(reasoning)
        if isinstance(choice.get("finish_reason"), str):
            self.finish = choice["finish_reason"].lower()
        if text or refusal or reasoning:
            self._on_progress(self._characters + self._reasoning_characters)


def payloads_of(chunks: Iterable[bytes], content_type: str) -> Iterator[str]:
    """The JSON texts a reply consists of."""
    if "html" in content_type:
        raise BrokenStream("it is a web page")
    return _payloads_of_document(chunks) if "json" in content_type else _payloads_of_stream(chunks)


def _payloads_of_stream(chunks: Iterable[bytes]) -> Iterator[str]:
    """The data of each server-sent event. Comments, which only keep the connection alive, are left out."""
    data: list[str] = []
    for line in _lines(chunks):
        if line.startswith(b"data:"):
            data.append(line[5:].decode(errors="replace").removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data = []
    if data:
        yield "\n".join(data)


def _payloads_of_document(chunks: Iterable[bytes]) -> Iterator[str]:
    """A server that does not stream: one document, which is a whole reply."""
    document = bytearray()
    for chunk in chunks:
        document += chunk
        _check_length(document)
    yield document.decode(errors="replace")


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = bytearray()
    for chunk in chunks:
        rest += chunk
        *whole, tail = rest.split(b"\n")
        rest = tail
        _check_length(rest)
        for line in whole:
            yield bytes(line).removesuffix(b"\r")
    if rest:
        yield bytes(rest)


def _check_length(gathered: bytearray) -> None:
    if len(gathered) > LONGEST_LINE:
        raise BrokenStream(f"one line of the reply has more than {LONGEST_LINE:,} bytes")


def _parsed(payload: str) -> dict[str, Any]:
    try:
        event = json.loads(payload)
    except (ValueError, RecursionError):
        raise BrokenStream(f"not JSON: {shorten_to_line(payload, 80)}") from None
    if not isinstance(event, dict):
        raise BrokenStream(f"not an object: {shorten_to_line(payload, 80)}")
    return event


def _text_of(content: object) -> str:
    """Text that is plain, or in parts of which only those of type text count."""
    if isinstance(content, list):
        parts = (one for one in content if isinstance(one, dict) and one.get("type") == "text")
        return "".join(_text_of(one.get("text")) for one in parts)
    return content if isinstance(content, str) else ""


def _join_surrogates(text: str) -> str:
    """Halves of surrogate pairs that arrived in two events become one character; lonely ones are replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
