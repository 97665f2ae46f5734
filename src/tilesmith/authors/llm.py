"""An LLM as author, at any endpoint that speaks the OpenAI protocol."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tilesmith.authors.protocol import Heard
from tilesmith.llm.client import Client
from tilesmith.llm.patience import Limits, Patience
from tilesmith.llm.prices import Price, dollars
from tilesmith.llm.providers import Endpoint
from tilesmith.records import Prompt, Reply, Request


@dataclass(frozen=True)
class LlmSettings:
    """How to treat the endpoint."""

    limits: Limits = Limits()
    """`max_output_tokens` is the request's own."""
    patience: Patience = Patience()
    price: Price | None = None
    """The user's own price, where the list does not know it or is wrong."""


class LlmAuthor:
    """Answers with what the model says."""

    def __init__(
        self,
        endpoint: Endpoint,
        settings: LlmSettings | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._settings = settings or LlmSettings()
        self._client = Client(endpoint, self._settings.patience, environment)

    @property
    def name(self) -> str:
        return self._client.endpoint.name

    def answer(self, request: Request, prompt: Prompt, heard: Heard) -> Reply:
        limits = replace(self._settings.limits, max_output_tokens=request.max_output_tokens)
        reply = self._client.complete(prompt, limits, heard)
        cost = dollars(self._client.endpoint, reply.usage, self._settings.price, reply.author)
        return replace(reply, usage=replace(reply.usage, dollars=cost))
