"""The openai SDK, held to what we want of it: one try per call, and nothing sent that is not for this endpoint."""

from __future__ import annotations

import os
import sys
from typing import Any

import openai

from tilesmith.errors import AuthorError
from tilesmith.llm.failures import redact_key, shorten_to_line
from tilesmith.llm.providers import Endpoint
from tilesmith.llm.retry import CallLimits

NO_KEY = "none"
"""What a server that asks for no key is told; the SDK insists on something."""


def open_sdk(endpoint: Endpoint, key: str | None) -> openai.OpenAI:
    """A client for this endpoint. It is safe to use from several threads."""
    try:
        return openai.OpenAI(
            api_key=key or NO_KEY,
            base_url=endpoint.base_url,
            max_retries=0,
            default_headers=_headers(endpoint, key),
        )
    except (ValueError, ImportError, OSError) as problem:
        message = shorten_to_line(redact_key(str(problem), key))
        raise AuthorError(f"{endpoint.name}: {message}; check the proxy and certificate settings") from None


def sdk_timeout(limits: CallLimits) -> openai.Timeout:
    silence_s = min(limits.idle_timeout_s, limits.call_timeout_s)
    return openai.Timeout(silence_s, connect=min(limits.connect_timeout_s, silence_s))


def connection_errors() -> tuple[type[Exception], ...]:
    """The SDK's own, and those of the HTTP library under it (httpx or httpx2, by its version), which it wraps
    only while it sends a request, not while a body is read."""
    loaded = (sys.modules.get(name) for name in ("httpx2", "httpx"))
    return (openai.APIConnectionError, OSError, *(one.RequestError for one in loaded if one is not None))


def _headers(endpoint: Endpoint, key: str | None) -> dict[str, Any]:
    """The SDK reads headers for OpenAI from the environment. They are nobody else's business."""
    leave_out = openai.Omit()
    headers: dict[str, Any] = {"Authorization": f"Bearer {key or NO_KEY}"}
    if endpoint.key_variable != "OPENAI_API_KEY":
        lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
        names = ("OpenAI-Organization", "OpenAI-Project", *(line.partition(":")[0].strip() for line in lines))
        headers |= {name: leave_out for name in names if name and name.lower() != "authorization"}
    return headers
