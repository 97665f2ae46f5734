"""What a provider says when it does not answer, made fit for one line and free of the key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tilesmith.records import Usage

LONGEST_MESSAGE = 300
SHORTEST_SECRET = 8
"""Shorter ones are what people tell servers that want no key: EMPTY, none, ollama."""
LATER = "resume the run later"
_RETRIED = (408, 409, 425, 429)
_SPENT = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")


@dataclass(frozen=True)
class Failure:
    """One try that came to nothing."""

    message: str
    """One line: the provider's own where it said something."""
    advice: str
    max_retries: int | None = None
    """How many retries this is worth; null leaves it to the caller's policy."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    spent: Usage = field(default_factory=Usage)
    """What is paid for all the same: a reply that breaks off is billed as far as it came."""


class CallFailed(Exception):
    """Carries a failure from a try to whoever decides whether there is another one."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def shorten_to_line(text: str, limit: int = LONGEST_MESSAGE) -> str:
    """Any text as one printable line of at most `limit` characters."""
    printable = "".join(one if one.isprintable() else " " for one in text[: 100 * limit])
    line = " ".join(printable.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def redact_key(text: str, key: str | None) -> str:
    """`text` without the key, should a provider repeat it."""
    return text if key is None or len(key) < SHORTEST_SECRET else text.replace(key, "[key]")


def provider_message(body: object, key: str | None) -> str:
    """What a provider's error says: the message inside it, wherever this provider puts that."""
    said = redact_key(_message(body), key)  # before anything is cut, which could leave half a key
    if said.lstrip().startswith("<"):
        said = re.sub(r"<[^>]*>", " ", said)
    return shorten_to_line(said)


def _message(body: object) -> str:
    if isinstance(body, list) and body:
        return _message(body[0])
    if isinstance(body, Mapping):
        inner = next((body[name] for name in ("error", "message", "detail", "msg") if body.get(name)), None)
        return _message(inner) if inner is not None else ""
    return body if isinstance(body, str) else ""


def status_failure(status: int, body: object, key: str | None, key_variable: str) -> Failure:
    """An HTTP status that is no answer. `body` is the error object, or the text of the page."""
    message = f"HTTP {status}: {provider_message(body, key) or 'no reason given'}"
    if _is_spent(body) or status == 402:
        return Failure(message, "the account has no credit left for this model", max_retries=0)
    if status in _RETRIED or status >= 500:
        return Failure(message, LATER)
    return Failure(message, _advice(status, key, key_variable), max_retries=0)


def _is_spent(body: object) -> bool:
    return isinstance(body, Mapping) and (body.get("code") in _SPENT or body.get("type") in _SPENT)


def _advice(status: int, key: str | None, key_variable: str) -> str:
    if status in (401, 403):
        return f"check the key in {key_variable}" if key else f"set {key_variable}"
    if status == 404:
        return "check the model's name and the address"
    return "the provider does not accept this request"


def stream_failure(error: Any, key: str | None, key_variable: str) -> Failure:
    """An error sent in the middle of a reply. Only a code that is an HTTP status tells whose fault it is."""
    code = error.get("code") if isinstance(error, Mapping) else None
    if isinstance(code, int) and 400 <= code < 600:
        return status_failure(code, error, key, key_variable)
    message = f"the reply broke off: {provider_message(error, key) or 'no reason given'}"
    return Failure(message, LATER, max_retries=0 if _is_spent(error) else None)
