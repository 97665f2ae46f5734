"""One prompt in, one reply out, over the OpenAI protocol; tries again where that makes sense."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import openai

from tilesmith.llm.dialects import Dialect, first_dialect
from tilesmith.llm.failures import (
    LATER,
    CallFailed,
    Failure,
    redact_key,
    shorten_to_line,
    status_failure,
    stream_failure,
)
from tilesmith.llm.providers import Endpoint, read_key
from tilesmith.llm.retry import CallLimits, RetryPolicy, call_with_retries
from tilesmith.llm.sdk import connection_errors, open_sdk, sdk_timeout
from tilesmith.llm.streaming import BrokenStream, ErrorInStream, StreamedReply, StreamReader, payloads_of
from tilesmith.llm.token_counts import count_lost_tokens, count_tokens
from tilesmith.records import Prompt, Reply, StopReason

LENGTH_REASONS = ("length", "max_tokens", "model_length")
DECLINED_REASONS = ("content_filter", "refusal", "safety")
MOST_LESSONS = 20
"""Refusals to learn from in one try. A few are usual; a provider that always finds another fault is told of."""


class Client:
    """Talks to one endpoint, from several threads at once. The key stays inside."""

    def __init__(
        self, endpoint: Endpoint, policy: RetryPolicy, environment: Mapping[str, str] = os.environ
    ) -> None:
        self.endpoint = endpoint
        self._policy = policy
        self._key = read_key(endpoint, environment)
        self._sdk = open_sdk(endpoint, self._key)
        self._dialect = first_dialect(endpoint)
        self._reached = False
        self._lock = threading.Lock()

    def complete(self, prompt: Prompt, limits: CallLimits, on_progress: Callable[[int], None]) -> Reply:
        """The model's reply. Raises `AuthorError` when there is none to be had."""
        began = time.monotonic()
        whole = call_with_retries(lambda: self._ask(prompt, limits, on_progress), self._policy, self.endpoint.name)
        return Reply(
            redact_key(_text(whole.value), self._key),
            redact_key(whole.value.model, self._key) or self.endpoint.model,
            _stop(whole.value),
            count_tokens(prompt, whole.value) + whole.lost,
            time.monotonic() - began,
            whole.retries,
        )

    def _ask(self, prompt: Prompt, limits: CallLimits, on_progress: Callable[[int], None]) -> StreamedReply:
        """One try, repeated only to ask in a way this endpoint understands."""
        dialect, refusals = self._dialect, 0
        while True:
            reader = StreamReader(on_progress, limits.max_characters)
            try:
                self._read_reply(reader, dialect.arguments(self.endpoint, prompt, limits), limits)
                return reader.result()
            except CallFailed as problem:
                spent = count_lost_tokens(prompt, reader.result())
                raise CallFailed(replace(problem.failure, spent=spent)) from None
            except openai.APIStatusError as refusal:
                self._reached, refusals = True, refusals + 1
                learnable = refusal.status_code in (400, 422) and refusals <= MOST_LESSONS
                better = self._learn(dialect, refusal.message, prompt, limits) if learnable else None
                if better is None:
                    raise CallFailed(self._refusal_failure(refusal)) from None
                dialect = better

    def _learn(self, used: Dialect, refusal: str, prompt: Prompt, limits: CallLimits) -> Dialect | None:
        """Another way to ask, if there is one. Another thread may have found it in the meantime."""
        with self._lock:
            if self._dialect != used:
                return self._dialect
            better = used.after(refusal, prompt, limits)
            self._dialect = better or used
            return better

    def _refusal_failure(self, refusal: openai.APIStatusError) -> Failure:
        body = refusal.body if refusal.body else refusal.response.text
        failure = status_failure(refusal.status_code, body, self._key, self.endpoint.key_variable)
        headers = {name.lower(): value for name, value in refusal.response.headers.items()}
        return Failure(failure.message, failure.advice, failure.max_retries, headers)

    def _read_reply(self, reader: StreamReader, arguments: dict[str, Any], limits: CallLimits) -> None:
        """Send, then read to the end. What breaks after the provider said why it stopped does no harm any more."""
        send = self._sdk.chat.completions.with_streaming_response.create
        broken = connection_errors()
        try:
            with send(**arguments, timeout=sdk_timeout(limits)) as response:
                self._reached = True
                bytes_in_time = _until_deadline(response.iter_bytes(), limits.call_timeout_s)
                reader.read(payloads_of(bytes_in_time, response.headers.get("content-type", "")))
        except broken as problem:
            if reader.finish is None:
                raise CallFailed(self._connection_failure(problem, limits)) from None
        except ErrorInStream as problem:
            raise CallFailed(stream_failure(problem.error, self._key, self.endpoint.key_variable)) from None
        except BrokenStream as problem:
            message = f"the reply cannot be read: {redact_key(str(problem), self._key)}"
            raise CallFailed(Failure(message, "is this an OpenAI-compatible address?", max_retries=2)) from None
        if reader.finish is None:
            raise CallFailed(Failure("the connection was cut in the middle of the reply", LATER))

    def _connection_failure(self, problem: Exception, limits: CallLimits) -> Failure:
        """A connection that failed. One that never worked is probably a wrong address: not worth a long wait."""
        cause = problem.__cause__ or problem
        if isinstance(problem, CallTooSlow):
            return Failure(f"no whole reply within {limits.call_timeout_s:g} s", LATER, max_retries=1)
        if "ReadTimeout" in type(cause).__name__:
            return Failure(f"nothing heard for {min(limits.idle_timeout_s, limits.call_timeout_s):g} s", LATER)
        message = f"no connection: {shorten_to_line(redact_key(str(cause), self._key)) or type(cause).__name__}"
        if self._reached:
            return Failure(message, LATER)
        return Failure(message, "is the address right, the server up, the network there?", max_retries=2)


class CallTooSlow(OSError):
    """A try ran out of time while bytes were still coming."""


def _until_deadline(chunks: Iterator[bytes], seconds: float) -> Iterator[bytes]:
    deadline = time.monotonic() + seconds
    for chunk in chunks:
        if time.monotonic() > deadline:
            raise CallTooSlow
        yield chunk


def _text(reply: StreamedReply) -> str:
    if reply.refusal and not reply.text:
        return reply.refusal
    if reply.finish in DECLINED_REASONS and not reply.text:
        return "The provider's content filter stopped the reply."
    return reply.text


def _stop(reply: StreamedReply) -> StopReason:
    if reply.finish in LENGTH_REASONS:
        return StopReason.LENGTH
    return StopReason.DECLINED if reply.refusal or reply.finish in DECLINED_REASONS else StopReason.END
