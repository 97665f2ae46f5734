"""One prompt in, one reply out, over the OpenAI protocol; tries again where that makes sense."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tilesmith.errors import AuthorError
from tilesmith.llm.counting import count_tokens
from tilesmith.llm.dialects import Dialect, first_dialect
from tilesmith.llm.failures import CallFailed, Failure, hide, squeeze, status_failure, stream_failure
from tilesmith.llm.patience import Limits, Patience, persist
from tilesmith.llm.providers import Endpoint, read_key
from tilesmith.llm.streaming import (
    DECLINED_REASONS,
    LENGTH_REASONS,
    BrokenStream,
    ErrorInStream,
    Heard,
    Listener,
    payloads_of_document,
    payloads_of_stream,
)
from tilesmith.records import Prompt, Reply, Stop

if TYPE_CHECKING:
    import openai

LATER = "resume the run later"


class Client:
    """Talks to one endpoint, from several threads at once. The key stays inside."""

    def __init__(self, endpoint: Endpoint, patience: Patience, environment: Mapping[str, str] = os.environ) -> None:
        self.endpoint = endpoint
        self._patience = patience
        self._key = read_key(endpoint, environment)
        self._headers = _headers(endpoint, self._key, environment)
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
            count_tokens(prompt, whole.value),
            time.monotonic() - began,
            whole.retries,
        )

    @cached_property
    def _sdk(self) -> openai.OpenAI:
        import openai

        try:
            return openai.OpenAI(
                api_key=self._key or "none",
                base_url=self.endpoint.base_url,
                max_retries=0,
                default_headers=self._headers,
            )
        except (ValueError, ImportError, OSError) as problem:
            words = squeeze(hide(str(problem), self._key))
            raise AuthorError(
                f"no way to reach {self.endpoint.base_url}: {words}; check the proxy settings"
            ) from None

    def _ask(self, prompt: Prompt, limits: Limits, heard: Callable[[int], None]) -> Heard:
        """One try, repeated only to leave out fields this endpoint does not understand."""
        import openai

        while True:
            dialect = self._dialect
            try:
                return self._listen(dialect.arguments(self.endpoint, prompt, limits), limits, heard)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as refusal:
                self._reached = True
                if not self._learn(dialect, refusal.message):
                    raise CallFailed(self._status_failure(refusal)) from None
            except openai.APIStatusError as refusal:
                self._reached = True
                raise CallFailed(self._status_failure(refusal)) from None

    def _learn(self, used: Dialect, refusal: str) -> bool:
        """Whether there is another way to ask. Another thread may have found it in the meantime."""
        with self._lock:
            if self._dialect != used:
                return True
            better = used.after(refusal)
            self._dialect = better or used
            return better is not None

    def _status_failure(self, refusal: openai.APIStatusError) -> Failure:
        body = refusal.body if refusal.body else refusal.response.text
        failure = status_failure(refusal.status_code, body, self._key, self.endpoint.key_variable)
        headers = {name.lower(): value for name, value in refusal.response.headers.items()}
        return Failure(failure.words, failure.advice, failure.worth, headers)

    def _listen(self, arguments: dict[str, Any], limits: Limits, heard: Callable[[int], None]) -> Heard:
        """Send, then read to the end. What breaks after the provider said why it stopped does no harm any more."""
        import openai

        listener = Listener(heard, limits.max_characters)
        timeout = _timeout(limits)
        try:
            with self._sdk.chat.completions.with_streaming_response.create(
                **arguments, timeout=timeout
            ) as response:
                self._reached = True
                streamed = "json" not in response.headers.get("content-type", "")
                payloads = payloads_of_stream if streamed else payloads_of_document
                listener.listen(payloads(_until_late(response.iter_bytes(), limits.call_timeout_s)))
        except (openai.APIConnectionError, *_transport_errors()) as problem:
            if listener.finish is None:
                raise CallFailed(self._silence(problem, limits)) from None
        except ErrorInStream as problem:
            raise CallFailed(stream_failure(problem.error, self._key, self.endpoint.key_variable)) from None
        except BrokenStream as problem:
            words = f"the reply cannot be read: {hide(str(problem), self._key)}"
            raise CallFailed(Failure(words, "is this an OpenAI-compatible address?", worth=2)) from None
        if listener.finish is None:
            raise CallFailed(Failure("the connection was cut in the middle of the reply", LATER))
        return listener.result()

    def _silence(self, problem: Exception, limits: Limits) -> Failure:
        """A connection that failed. One that never worked is probably a wrong address: not worth a long wait."""
        import openai

        cause = problem.__cause__ or problem
        if isinstance(problem, TooLate):
            return Failure(f"no whole reply within {limits.call_timeout_s:g} s", LATER, worth=1)
        if isinstance(problem, openai.APITimeoutError) or "Timeout" in type(cause).__name__:
            return Failure(f"nothing heard for {limits.idle_timeout_s:g} s", LATER)
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


def _timeout(limits: Limits) -> openai.Timeout:
    import openai

    silence_s = min(limits.idle_timeout_s, limits.call_timeout_s)
    return openai.Timeout(silence_s, connect=min(limits.connect_timeout_s, silence_s))


def _transport_errors() -> tuple[type[Exception], ...]:
    """Those of the HTTP library under the SDK (httpx or httpx2, by its version), which the SDK wraps only while
    it sends a request, not while a body is read."""
    loaded = (sys.modules.get(name) for name in ("httpx2", "httpx"))
    return (OSError, *(module.RequestError for module in loaded if module is not None))


def _headers(endpoint: Endpoint, key: str | None, environment: Mapping[str, str]) -> dict[str, Any]:
    """The SDK reads headers for OpenAI from the environment. They are nobody else's business."""
    import openai

    leave_out = openai.Omit()
    headers: dict[str, Any] = {"Authorization": f"Bearer {key}" if key else leave_out}
    if endpoint.key_variable != "OPENAI_API_KEY":
        lines = environment.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
        names = ("OpenAI-Organization", "OpenAI-Project", *(line.partition(":")[0].strip() for line in lines))
        headers |= {name: leave_out for name in names if name and name.lower() != "authorization"}
    return headers


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
