"""One prompt in, one reply out, over the OpenAI protocol; tries again where that makes sense."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import openai

from tilesmith.llm.counting import count_lost_tokens, count_tokens
from tilesmith.llm.dialects import Dialect, first_dialect
from tilesmith.llm.failures import CallFailed, Failure, hide, squeeze, status_failure, stream_failure
from tilesmith.llm.patience import Limits, Patience, persist
from tilesmith.llm.providers import Endpoint, read_key
from tilesmith.llm.sdk import connection_errors, open_sdk, timeout_of
from tilesmith.llm.streaming import BrokenStream, ErrorInStream, Heard, Listener, payloads_of
from tilesmith.records import Prompt, Reply, Stop

LATER = "resume the run later"
LENGTH_REASONS = ("length", "max_tokens", "model_length")
DECLINED_REASONS = ("content_filter", "refusal", "safety")
MOST_LESSONS = 20
"""Refusals to learn from in one try. A few are usual; a provider that always finds another fault is told of."""


class Client:
    """Talks to one endpoint, from several threads at once. The key stays inside."""

    def __init__(self, endpoint: Endpoint, patience: Patience, environment: Mapping[str, str] = os.environ) -> None:
        self.endpoint = endpoint
        self._patience = patience
        self._key = read_key(endpoint, environment)
        self._sdk = open_sdk(endpoint, self._key)
        self._dialect = first_dialect(endpoint)
        self._reached = False
        self._lock = threading.Lock()

    def complete(self, prompt: Prompt, limits: Limits, heard: Callable[[int], None]) -> Reply:
        """The model's reply. Raises `AuthorError` when there is none to be had."""
        began = time.monotonic()
        whole = persist(lambda: self._ask(prompt, limits, heard), self._patience, self.endpoint.name)
        return Reply(
            hide(_text(whole.value), self._key),
            hide(whole.value.model, self._key) or self.endpoint.model,
            _stop(whole.value),
            count_tokens(prompt, whole.value) + whole.lost,
            time.monotonic() - began,
            whole.retries,
        )

    def _ask(self, prompt: Prompt, limits: Limits, heard: Callable[[int], None]) -> Heard:
        """One try, repeated only to ask in a way this endpoint understands."""
        dialect, refusals = self._dialect, 0
        while True:
            listener = Listener(heard, limits.max_characters)
            try:
                self._listen(listener, dialect.arguments(self.endpoint, prompt, limits), limits)
                return listener.result()
            except CallFailed as problem:
                spent = count_lost_tokens(prompt, listener.result())
                raise CallFailed(replace(problem.failure, spent=spent)) from None
            except openai.APIStatusError as refusal:
                self._reached, refusals = True, refusals + 1
                learnable = refusal.status_code in (400, 422) and refusals <= MOST_LESSONS
                better = self._learn(dialect, refusal.message, prompt, limits) if learnable else None
                if better is None:
                    raise CallFailed(self._refused(refusal)) from None
                dialect = better

    def _learn(self, used: Dialect, refusal: str, prompt: Prompt, limits: Limits) -> Dialect | None:
        """Another way to ask, if there is one. Another thread may have found it in the meantime."""
        with self._lock:
            if self._dialect != used:
                return self._dialect
            better = used.after(refusal, prompt, limits)
            self._dialect = better or used
            return better

    def _refused(self, refusal: openai.APIStatusError) -> Failure:
        body = refusal.body if refusal.body else refusal.response.text
        failure = status_failure(refusal.status_code, body, self._key, self.endpoint.key_variable)
        headers = {name.lower(): value for name, value in refusal.response.headers.items()}
        return Failure(failure.words, failure.advice, failure.worth, headers)

    def _listen(self, listener: Listener, arguments: dict[str, Any], limits: Limits) -> None:
        """Send, then read to the end. What breaks after the provider said why it stopped does no harm any more."""
        send = self._sdk.chat.completions.with_streaming_response.create
        broken = connection_errors()
        try:
            with send(**arguments, timeout=timeout_of(limits)) as response:
                self._reached = True
                bytes_in_time = _until_late(response.iter_bytes(), limits.call_timeout_s)
                listener.listen(payloads_of(bytes_in_time, response.headers.get("content-type", "")))
        except broken as problem:
            if listener.finish is None:
                raise CallFailed(self._silence(problem, limits)) from None
        except ErrorInStream as problem:
            raise CallFailed(stream_failure(problem.error, self._key, self.endpoint.key_variable)) from None
        except BrokenStream as problem:
            words = f"the reply cannot be read: {hide(str(problem), self._key)}"
            raise CallFailed(Failure(words, "is this an OpenAI-compatible address?", worth=2)) from None
        if listener.finish is None:
            raise CallFailed(Failure("the connection was cut in the middle of the reply", LATER))

    def _silence(self, problem: Exception, limits: Limits) -> Failure:
        """A connection that failed. One that never worked is probably a wrong address: not worth a long wait."""
        cause = problem.__cause__ or problem
        if isinstance(problem, TooLate):
            return Failure(f"no whole reply within {limits.call_timeout_s:g} s", LATER, worth=1)
        if "ReadTimeout" in type(cause).__name__:
            return Failure(f"nothing heard for {min(limits.idle_timeout_s, limits.call_timeout_s):g} s", LATER)
        words = f"no connection: {squeeze(hide(str(cause), self._key)) or type(cause).__name__}"
        if self._reached:
            return Failure(words, LATER)
        return Failure(words, "is the address right, the server up, the network there?", worth=2)


class TooLate(OSError):
    """A try ran out of time while bytes were still coming."""


def _until_late(chunks: Iterator[bytes], seconds: float) -> Iterator[bytes]:
    deadline = time.monotonic() + seconds
    for chunk in chunks:
        if time.monotonic() > deadline:
            raise TooLate
        yield chunk


def _text(heard: Heard) -> str:
    if heard.refusal and not heard.text:
        return heard.refusal
    if heard.finish in DECLINED_REASONS and not heard.text:
        return "The provider's content filter stopped the reply."
    return heard.text


def _stop(heard: Heard) -> Stop:
    if heard.finish in LENGTH_REASONS:
        return Stop.LENGTH
    return Stop.DECLINED if heard.refusal or heard.finish in DECLINED_REASONS else Stop.END
