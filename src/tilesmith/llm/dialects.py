"""Which optional fields an endpoint understands, learned from its refusals."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from tilesmith.llm.patience import Limits
from tilesmith.llm.providers import Endpoint
from tilesmith.records import Prompt

LIMIT_FIELDS = ("max_completion_tokens", "max_tokens")


@dataclass(frozen=True)
class Dialect:
    """How to ask. The fields left are those nobody has refused yet."""

    limit_fields: tuple[str, ...] = LIMIT_FIELDS
    """Names for the limit on output tokens, the first of which is used; none: the provider's own limit holds."""
    stream_options: bool = True
    temperature: bool = True

    def arguments(self, endpoint: Endpoint, prompt: Prompt, limits: Limits) -> dict[str, Any]:
        """What `chat.completions.create` is given."""
        asked: dict[str, Any] = {"model": endpoint.model, "messages": _messages(prompt), "stream": True}
        if self.stream_options:
            asked["stream_options"] = {"include_usage": True}
        if self.limit_fields:
            asked[self.limit_fields[0]] = limits.max_output_tokens
        if self.temperature and limits.temperature is not None:
            asked["temperature"] = limits.temperature
        return asked

    def after(self, refusal: str) -> Dialect | None:
        """The dialect to try next when a request was refused with these words; none if they name no such field."""
        if self.stream_options and re.search(r"stream_options|include_usage", refusal):
            return replace(self, stream_options=False)
        if self.temperature and "temperature" in refusal:
            return replace(self, temperature=False)
        if self.limit_fields and re.search(r"max_tokens|max_completion_tokens|maximum context length", refusal):
            # A limit that is too high is too high under either name.
            too_high = re.search(r"too (large|high|big)|at most|maximum|range|less than|exceed", refusal)
            return replace(self, limit_fields=() if too_high else self.limit_fields[1:])
        return None


def first_dialect(endpoint: Endpoint) -> Dialect:
    """What an endpoint most probably speaks: `max_tokens`, unless its provider is known to want the newer name."""
    provider = endpoint.served_by
    first = provider.limit_field if provider else "max_tokens"
    return Dialect(tuple(sorted(LIMIT_FIELDS, key=lambda name: name != first)))


def _messages(prompt: Prompt) -> list[dict[str, str]]:
    said = (("system", prompt.system), ("user", prompt.user))
    return [{"role": role, "content": content} for role, content in said if content]
