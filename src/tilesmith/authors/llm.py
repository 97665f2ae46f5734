"""An LLM as author, at any endpoint that speaks the OpenAI protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilesmith.authors.protocol import OnProgress
from tilesmith.errors import MachineError
from tilesmith.llm.prices import Price, dollars
from tilesmith.llm.providers import Endpoint
from tilesmith.llm.retry import CallGivenUp, CallLimits, RetryPolicy
from tilesmith.records import AuthorRequest, Prompt, Reply, Usage


class LlmAuthor:
    """Answers with what the model says."""

    def __init__(
        self,
        endpoint: Endpoint,
        environment: Mapping[str, str],
        *,
        limits: CallLimits | None = None,
        retry_policy: RetryPolicy | None = None,
        price: Price | None = None,
    ) -> None:
        """`price` is the user's own, where the list knows none or is wrong."""
        try:
            from tilesmith.llm.client import Client
        except ModuleNotFoundError as missing:
            raise MachineError(f"an LLM as author needs the package {missing.name}: pip install openai") from None
        self._client = Client(endpoint, retry_policy or RetryPolicy(), environment)
        self._limits = limits or CallLimits()
        self._price = price

    @property
    def name(self) -> str:
        return self._client.endpoint.name

    def dollars(self, usage: Usage) -> float | None:
        return dollars(self._client.endpoint, usage, self._price)

    def answer(self, request: AuthorRequest, prompt: Prompt, on_progress: OnProgress) -> Reply:
        limits = replace(self._limits, max_output_tokens=request.max_output_tokens)
        try:
            reply = self._client.complete(prompt, limits, on_progress)
        except CallGivenUp as lost:
            lost.spent = replace(lost.spent, dollars=self.dollars(lost.spent))
            raise
        cost = dollars(self._client.endpoint, reply.usage, self._price, reply.author)
        return replace(reply, usage=replace(reply.usage, dollars=cost))
