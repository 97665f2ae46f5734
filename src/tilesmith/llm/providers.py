"""Where a model is served: the providers we know by name, and the endpoint a run talks to.

A key is never part of any record here: an `Endpoint` only knows the environment variable that holds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilesmith.errors import UsageError

OPENAI_BASE_URL = "OPENAI_BASE_URL"
"""Where other clients of the OpenAI protocol look for an address, and so do we."""
OWN_KEY = "TILESMITH_API_KEY"
"""Goes to the `--base-url` a user names; the key of a provider goes to that provider alone, and OpenAI's to the
address in OPENAI_BASE_URL too, as its SDK does."""


@dataclass(frozen=True)
class Provider:
    """A service that speaks the OpenAI protocol."""

    name: str
    base_url: str
    key_variable: str = OWN_KEY
    needs_key: bool = True
    local: bool = False
    """Runs on hardware of the user's own: no price per token."""
    model_prefixes: tuple[str, ...] = ()
    """How the names of its own models start, for a user who names only the model."""
    price_name: str | None = None
    """What genai_prices calls it."""
    limit_field: str = "max_tokens"
    """How it wants the limit on output tokens. Some endpoints silently ignore a name they do not know."""


PROVIDERS: dict[str, Provider] = {
    one.name: one
    for one in (
        Provider(
            "openai",
            "https://api.openai.com/v1",
            "OPENAI_API_KEY",
            model_prefixes=("gpt-", "chatgpt-", "o1", "o3", "o4"),
            price_name="openai",
            limit_field="max_completion_tokens",
        ),
        Provider(
            "anthropic",
            "https://api.anthropic.com/v1/",
            "ANTHROPIC_API_KEY",
            model_prefixes=("claude-",),
            price_name="anthropic",
        ),
        Provider(
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai/",
            "GEMINI_API_KEY",
            model_prefixes=("gemini-",),
            price_name="google",
        ),
        Provider(
            "deepseek",
            "https://api.deepseek.com/v1",
            "DEEPSEEK_API_KEY",
            model_prefixes=("deepseek-",),
            price_name="deepseek",
        ),
        Provider(
            "openrouter",
            "https://openrouter.ai/api/v1",
            "OPENROUTER_API_KEY",
            price_name="openrouter",
        ),
        Provider("ollama", "http://localhost:11434/v1", needs_key=False, local=True),
        Provider("vllm", "http://localhost:8000/v1", needs_key=False, local=True),
        Provider("sglang", "http://localhost:30000/v1", needs_key=False, local=True),
    )
}


KEY_VARIABLES = (*(one.key_variable for one in PROVIDERS.values() if one.needs_key), OWN_KEY)
"""Every environment variable that a key is read from."""


def find_keys(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the variables that hold a key; never what they hold."""
    return tuple(name for name in KEY_VARIABLES if environment.get(name, "").strip())


@dataclass(frozen=True)
class Endpoint:
    """One model at one address."""

    model: str
    base_url: str
    provider: str | None
    """A name from `PROVIDERS`; null for an address we know nothing about."""
    key_variable: str

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.model} at {self.base_url}"

    @property
    def served_by(self) -> Provider | None:
        return PROVIDERS.get(self.provider) if self.provider else None


def read_key(endpoint: Endpoint, environment: Mapping[str, str]) -> str | None:
    """The key to send, fresh from the environment; none where none is set."""
    key = environment.get(endpoint.key_variable, "").strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(f"{endpoint.key_variable} does not hold a key: it has characters no key has; set it again")
    return key or None
